// SPDX-License-Identifier: MIT OR Apache-2.0
#include "agent/path.h"

#include "agent/fast.h"
#include "wire/follow.h"

#define NR_TRIES  16
#define MAX_BASES 16

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

/* What a walk finds. */
struct follow_memory {
	uint64_t hash;
	/* to be filled in with what the choices depend on; NULL: not wanted */
	struct wire_path *path;
	uint64_t bases[MAX_BASES];
	uint32_t nr_bases;
	struct follow f;
};

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A path that depends on more than can be checked has no checks, and is walked each time. */
static void give_up_checks(struct follow_memory *t)
{
	t->path->nr_checks = 0;
	t->path = 0;
}

static void add_check(struct follow_memory *t, uint32_t base, uint64_t addr, uint64_t value,
		      uint64_t mask)
{
	uint64_t off = (addr & ~UINT64_C(7)) - t->bases[base];
	unsigned shift = addr % 8 * 8;

	if (t->path->nr_checks == WIRE_MAX_CHOICES || t->bases[base] % 8 || off > UINT32_MAX) {
		give_up_checks(t);
		return;
	}
	t->path->checks[t->path->nr_checks++] =
		(struct wire_check){ value << shift, mask << shift, off, base };
}

static uint32_t add_base(struct follow_memory *t, uint32_t base, uint64_t addr, uint64_t to)
{
	add_check(t, base, addr, 0, 0);
	if (t->path && t->nr_bases < MAX_BASES) {
		base = t->nr_bases++;
		t->bases[base] = to;
	} else if (t->path) {
		give_up_checks(t);
	}
	return base;
}

static inline bool follow_word(struct follow_memory *t, uint64_t addr, uint64_t *word)
{
	*word = load(addr);
	return true;
}

static inline void follow_chose(struct follow_memory *t, uint32_t edge)
{
	t->hash = mix(t->hash, edge);
}

static inline void follow_saw(struct follow_memory *t, uint32_t base, uint64_t addr, uint64_t value,
			      uint64_t mask)
{
	if (t->path)
		add_check(t, base, addr, value, mask);
}

static inline void follow_saw_other(struct follow_memory *t)
{
	if (t->path)
		give_up_checks(t);
}

static inline uint32_t follow_moved(struct follow_memory *t, uint32_t base, uint64_t addr,
				    uint64_t to)
{
	return t->path ? add_base(t, base, addr, to) : base;
}

static inline uint32_t follow_dyn(struct follow_memory *t, uint64_t table)
{
	const struct wire_region *r = core_page.region;

	for (unsigned i = 0; i < WIRE_DYN_TRIES; i++) {
		const struct wire_dyn *d = &r->dyns[(wire_dyn_home(table) + i) % WIRE_MAX_DYNS];
		uint64_t have = __atomic_load_n(&d->addr, __ATOMIC_ACQUIRE);

		if (have == table)
			return d->edge < r->nr_edges ? d->edge : 0;
		if (!have)
			break;
	}
	return 0;
}

static bool walk(struct follow_memory *t, const struct wire_region *r, uint32_t edge, uint64_t addr)
{
	t->hash = mix(0, edge);
	t->nr_bases = 1;
	t->bases[0] = addr;
	return follow_recipe(&t->f, t, r->nodes, r->edges, edge, addr);
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

static void fill_in(struct wire_region *r, uint32_t number, struct follow_memory *t, uint64_t task,
		    uint32_t edge)
{
	struct wire_path *p = &r->paths[number];

	p->nr_choices = t->f.nr_choices;
	for (unsigned i = 0; i < t->f.nr_choices; i++)
		p->choices[i] = t->f.choices[i];
	p->nr_checks = 0;
	t->path = p;
	/* nobody but us touches the task: it is the same way again */
	if (!walk(t, r, edge, task) || t->f.nr_choices != p->nr_choices || !t->path)
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
	struct follow_memory t;
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
