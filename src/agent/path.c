// SPDX-License-Identifier: MIT OR Apache-2.0
#include "agent/path.h"

#include "agent/fast.h"

#define NR_TRIES   16
#define MAX_VISITS 512 /* nodes of one walk: a list that leads in a circle ends here */
#define MAX_FORKS  8
#define MAX_BASES  16

struct path_start path_starts[WIRE_MAX_TABLES + 1];
uint16_t path_last[WIRE_MAX_THREADS][PATH_NR_LAST];
uint16_t path_next[WIRE_MAX_PATHS];
static uint16_t chosen[PATH_NR_CHOSEN]; /* by hash of the words that choose: a path */
static uint32_t nr_starts;

/* ---- recipes ---- */

static bool is_sound_node(const struct wire_region *r, const struct wire_node *n)
{
	bool has_number = n->kind == WIRE_NODE_STATE || n->kind == WIRE_NODE_CASE;

	return n->kind < WIRE_NR_NODE_KINDS && n->first <= r->nr_edges &&
	       n->nr <= r->nr_edges - n->first &&
	       (!has_number ||
		(n->nr && (n->bytes == 1 || n->bytes == 2 || n->bytes == 4 || n->bytes == 8))) &&
	       ((n->kind != WIRE_NODE_DEREF && n->kind != WIRE_NODE_FORK) || n->nr);
}

/* All of them: how many does not matter, at the start of a program. */
static bool is_sound(const struct wire_region *r)
{
	if (r->nr_nodes > WIRE_MAX_NODES || r->nr_edges > WIRE_MAX_EDGES)
		return false;
	for (uint32_t i = 0; i < r->nr_nodes; i++)
		if (!is_sound_node(r, &r->nodes[i]))
			return false;
	for (uint32_t i = 0; i < r->nr_edges; i++)
		if (r->edges[i].node >= r->nr_nodes)
			return false;
	return true;
}

uint32_t path_add(const struct wire_region *r, uint32_t edge, uint32_t old)
{
	struct core_page *p = &core_page;
	struct path_start *s;

	if (!edge || edge >= r->nr_edges)
		return 0;
	if (p->nr_sound_nodes != r->nr_nodes || p->nr_sound_edges != r->nr_edges) {
		if (!is_sound(r))
			return 0;
		p->nr_sound_nodes = r->nr_nodes;
		p->nr_sound_edges = r->nr_edges;
	}
	if (!old && nr_starts == WIRE_MAX_TABLES)
		return 0;
	if (!old)
		old = ++nr_starts;
	s = &path_starts[old];
	s->nr_words = 0;
	s->edge = edge;
	p->has_paths = true;
	return old;
}

void path_forget(struct wire_region *r, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < WIRE_MAX_DYNS && r->nr_edges; i++)
		if (r->dyns[i].addr >= from && r->dyns[i].addr < to)
			__atomic_store_n(&r->dyns[i].edge, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < PATH_NR_CHOSEN; i++)
		__atomic_store_n(&chosen[i], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < WIRE_MAX_PATHS; i++)
		__atomic_store_n(&path_next[i], 0, __ATOMIC_RELAXED);
}

/* ---- following them ---- */

struct fork {
	uint32_t next, end; /* edges yet to be taken */
	uint64_t addr;
	uint32_t base;
};

/* What a walk finds. */
struct trail {
	uint64_t hash;
	uint32_t choices[WIRE_MAX_CHOICES];
	unsigned nr_choices;
	struct fork forks[MAX_FORKS];
	unsigned nr_forks;
	/* to be filled in with what the choices depend on; NULL: not wanted */
	struct wire_path *path;
	uint64_t bases[MAX_BASES];
	uint32_t nr_bases, base;
};

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static inline uint64_t mask_of(unsigned bytes)
{
	return ~UINT64_C(0) >> (64 - 8 * bytes);
}

/* What lies in one word, which is in memory as a whole if any of it is. */
static inline uint64_t number_at(uint64_t addr, unsigned bytes)
{
	return load(addr & ~UINT64_C(7)) >> addr % 8 * 8 & mask_of(bytes);
}

/* A path that depends on more than can be checked has no checks, and is walked each time. */
static void give_up_checks(struct trail *t)
{
	t->path->nr_checks = 0;
	t->path = 0;
}

static void add_check(struct trail *t, uint64_t addr, uint64_t value, uint64_t mask)
{
	uint64_t off = (addr & ~UINT64_C(7)) - t->bases[t->base];
	unsigned shift = addr % 8 * 8;

	if (!t->path)
		return;
	if (t->path->nr_checks == WIRE_MAX_CHOICES || t->bases[t->base] % 8 || off > UINT32_MAX) {
		give_up_checks(t);
		return;
	}
	t->path->checks[t->path->nr_checks++] =
		(struct wire_check){ value << shift, mask << shift, off, t->base };
}

/* Goes on where the word at addr points to. */
static uint64_t follow_pointer(struct trail *t, uint64_t addr)
{
	uint64_t to = load(addr);

	if (!t->path)
		return to;
	add_check(t, addr, 0, 0);
	if (t->path && t->nr_bases < MAX_BASES) {
		t->base = t->nr_bases++;
		t->bases[t->base] = to;
	} else if (t->path) {
		give_up_checks(t);
	}
	return to;
}

static inline void choose(struct trail *t, uint32_t edge)
{
	t->hash = mix(t->hash, edge);
	t->choices[t->nr_choices++] = edge;
}

/* The edge of a case; UINT32_MAX: there is none. */
static uint32_t find_case(struct trail *t, const struct wire_region *r, const struct wire_node *n,
			  uint64_t addr)
{
	uint64_t value = number_at(addr + n->off, n->bytes);

	for (uint32_t i = n->first; i < n->first + n->nr - (n->other ? 1 : 0); i++)
		if (r->edges[i].value == value) {
			add_check(t, addr + n->off, value, mask_of(n->bytes));
			return i;
		}
	if (!n->other)
		return UINT32_MAX;
	if (t->path) /* whatever is none of the others */
		give_up_checks(t);
	return n->first + n->nr - 1;
}

static uint32_t find_dyn(const struct wire_region *r, uint64_t addr)
{
	for (unsigned i = 0; i < WIRE_DYN_TRIES; i++) {
		const struct wire_dyn *d = &r->dyns[(wire_dyn_home(addr) + i) % WIRE_MAX_DYNS];
		uint64_t have = __atomic_load_n(&d->addr, __ATOMIC_ACQUIRE);

		if (have == addr)
			return d->edge < r->nr_edges ? d->edge : 0;
		if (!have)
			break;
	}
	return 0;
}

/* The end of a branch: where the next one begins; 0: that was the last. */
static uint32_t next_branch(struct trail *t, uint64_t *addr)
{
	struct fork *f;
	uint32_t edge;

	if (!t->nr_forks)
		return 0;
	f = &t->forks[t->nr_forks - 1];
	edge = f->next++;
	*addr = f->addr;
	t->base = f->base;
	if (f->next == f->end)
		t->nr_forks--;
	return edge;
}

/* All but states and ends. Returns the edge to take, UINT32_MAX: memory is not as it should be. */
static uint32_t step(struct trail *t, const struct wire_region *r, const struct wire_node *n,
		     uint64_t *addr)
{
	uint32_t edge = n->first;
	uint64_t vtable;

	switch (n->kind) {
	case WIRE_NODE_CASE:
		edge = find_case(t, r, n, *addr);
		if (edge != UINT32_MAX)
			choose(t, edge);
		return edge;
	case WIRE_NODE_DEREF:
		*addr = follow_pointer(t, *addr + n->off);
		return *addr ? edge : UINT32_MAX;
	case WIRE_NODE_DYN:
		vtable = load(*addr + n->other);
		edge = find_dyn(r, vtable);
		choose(t, edge);
		add_check(t, *addr + n->other, vtable, ~UINT64_C(0));
		*addr = follow_pointer(t, *addr + n->off);
		return *addr ? edge : UINT32_MAX;
	default:
		if (n->nr == 1)
			return edge;
		if (t->nr_forks == MAX_FORKS)
			return UINT32_MAX;
		t->forks[t->nr_forks++] = (struct fork){ edge + 1, edge + n->nr, *addr, t->base };
		return edge;
	}
}

static bool walk(struct trail *t, const struct wire_region *r, uint32_t edge, uint64_t addr)
{
	t->hash = mix(0, edge);
	t->nr_choices = t->nr_forks = t->base = 0;
	t->nr_bases = 1;
	t->bases[0] = addr;
	for (unsigned i = 0; i < MAX_VISITS; i++) {
		const struct wire_edge *e = &r->edges[edge];
		const struct wire_node *n = &r->nodes[e->node];

		addr += e->off;
		if (likely(n->kind == WIRE_NODE_STATE)) {
			uint64_t state = number_at(addr + n->off, n->bytes);

			if (unlikely(state >= n->nr))
				return false;
			add_check(t, addr + n->off, state, mask_of(n->bytes));
			edge = n->first + state;
			choose(t, edge);
		} else if (n->kind == WIRE_NODE_END) {
			edge = next_branch(t, &addr);
			if (!edge)
				return true;
		} else {
			edge = step(t, r, n, &addr);
			if (unlikely(edge == UINT32_MAX))
				return false;
		}
		if (unlikely(t->nr_choices == WIRE_MAX_CHOICES))
			return true;
	}
	return false;
}

/* ---- numbers ---- */

/* Checks of the task itself first: they need no pointer, and what pointers lead to depends on them.
 */
static void order_checks(struct wire_path *p)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < p->nr_checks; i++) {
		struct wire_check c = p->checks[i];

		if (c.base || !c.mask)
			continue;
		for (unsigned k = i; k > nr; k--)
			p->checks[k] = p->checks[k - 1];
		p->checks[nr++] = c;
	}
	p->nr_near = nr;
}

static void fill_in(struct wire_region *r, uint32_t number, struct trail *t, uint64_t task,
		    uint32_t edge)
{
	struct wire_path *p = &r->paths[number];

	p->nr_choices = t->nr_choices;
	for (unsigned i = 0; i < t->nr_choices; i++)
		p->choices[i] = t->choices[i];
	p->nr_checks = 0;
	t->path = p;
	/* nobody but us touches the task: it is the same way again */
	if (!walk(t, r, edge, task) || t->nr_choices != p->nr_choices || !t->path)
		p->nr_checks = 0;
	order_checks(p);
	__atomic_store_n(&p->recipe, edge, __ATOMIC_RELEASE);
	__atomic_fetch_or(&r->paths_used[number / 64], UINT64_C(1) << number % 64,
			  __ATOMIC_RELEASE);
}

static uint32_t find_path(struct wire_region *r, uint64_t hash, bool *is_new)
{
	*is_new = false;
	for (unsigned i = 0; i < NR_TRIES; i++) {
		uint32_t number = ((hash >> 8) + i) % WIRE_MAX_PATHS;
		uint64_t *at = &r->paths[number].hash, have;

		if (!number)
			continue;
		have = __atomic_load_n(at, __ATOMIC_RELAXED);
		if (!have && !core_charge_place(r))
			return 0;
		*is_new = !have && __atomic_compare_exchange_n(at, &have, hash, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		if (*is_new || have == hash)
			return number;
	}
	return 0;
}

bool path_holds_far(const struct wire_path *p, uint64_t task)
{
	uint64_t bases[MAX_BASES] = { task };
	unsigned nr = 1;

	for (unsigned i = p->nr_near; i < p->nr_checks; i++) {
		const struct wire_check *c = &p->checks[i];
		uint64_t word = load(bases[c->base] + c->off);

		if (!c->mask && word && word % 8 == 0)
			bases[nr++] = word;
		else if (!c->mask || (word ^ c->value) & c->mask)
			return false;
	}
	return true;
}

/* Where the words that the paths of its type depend on lead to. Some of them may be none of the
 * task's at the moment: that makes for another guess, no more. */
static uint16_t *chosen_by(const struct path_start *s, uint64_t task)
{
	uint32_t nr = __atomic_load_n(&s->nr_words, __ATOMIC_ACQUIRE);
	uint64_t hash = s->edge, factor = UINT64_C(0x9e3779b97f4a7c15);

	/* none of the products waits for another */
	for (uint32_t i = 0; i < nr; i++, factor += UINT64_C(0x6c62272e07bb0142)) {
		uint64_t word = load(task + s->offs[i]) & s->masks[i];

		hash += (word ^ word >> 32) * factor;
	}
	return &chosen[mix(hash, 0) >> 20 & (PATH_NR_CHOSEN - 1)];
}

/* Two threads that do this at once forget one of the words: that makes for bad guesses, no more. */
static void add_word(struct path_start *s, const struct wire_check *c)
{
	uint32_t nr = s->nr_words;

	for (uint32_t i = 0; i < nr; i++)
		if (s->offs[i] == c->off) {
			s->masks[i] |= c->mask;
			return;
		}
	if (nr == PATH_NR_WORDS)
		return;
	s->offs[nr] = c->off;
	s->masks[nr] = c->mask;
	__atomic_store_n(&s->nr_words, nr + 1, __ATOMIC_RELEASE);
}

static void add_words(struct path_start *s, const struct wire_path *p)
{
	for (unsigned i = 0; i < p->nr_near && i < p->nr_checks; i++)
		add_word(s, &p->checks[i]);
}

/* By the recipe. */
static uint64_t find_number(uint64_t task, struct path_start *s)
{
	struct wire_region *r = core_page.region;
	uint64_t number;
	struct trail t;
	bool is_new;

	t.path = 0;
	if (!walk(&t, r, s->edge, task)) {
		__atomic_fetch_add(&r->nr_bad_path, 1, __ATOMIC_RELAXED);
		return 0;
	}
	number = find_path(r, t.hash | 1, &is_new);
	if (!number) {
		__atomic_fetch_add(&r->nr_no_path, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (is_new)
		fill_in(r, number, &t, task, s->edge);
	if (__atomic_load_n(&r->paths[number].recipe, __ATOMIC_ACQUIRE) != s->edge ||
	    !r->paths[number].nr_checks) /* somebody is filling it in, or it is walked each time */
		return number;
	add_words(s, &r->paths[number]);
	__atomic_store_n(chosen_by(s, task), number, __ATOMIC_RELAXED);
	return number;
}

uint64_t path_find(uint64_t task, struct path_start *s)
{
	uint64_t number = __atomic_load_n(chosen_by(s, task), __ATOMIC_RELAXED);

	return number && path_holds(&core_page.region->paths[number], s->edge, task)
		       ? number
		       : find_number(task, s);
}

uint64_t path_follow(uint64_t task, struct path_start *s, uint16_t *last)
{
	uint64_t number = path_find(task, s);

	__atomic_store_n(&path_next[*last], number, __ATOMIC_RELAXED);
	*last = number;
	return number;
}
