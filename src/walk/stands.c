// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/stands.h"

#include <string.h>

#include "walk/census.h"
#include "walk/snapshot.h"

#define BATCH	    128
#define PAGE_BYTES  4096
#define FIRST_BYTES 1024 /* of a task: most of what a walk needs */
#define BLOCK_BYTES 256	 /* of all else: lies in one page */
#define MAX_VISITS  512	 /* as in the agent */
#define MAX_FORKS   8

/* Branches that are yet to be taken. */
struct fork {
	uint32_t next, end;
	uint64_t addr;
};

/* What was believed of a task's memory, to be compared. What was copied with it is others' as well.
 */
struct used {
	uint64_t addr, word;
};

struct subject {
	const struct census_task *task;
	const struct stands_table *table;
	struct snapshot snapshot;
	VEC(struct used) used;
	struct stands_trail trail;
};

struct walk {
	const struct stands *s;
	struct subject *subject;
	struct stands_trail trail;
	struct fork forks[MAX_FORKS];
	unsigned nr_forks;
	bool is_broken; /* memory is not as the recipe says */
};

struct look {
	struct stands *s;
	struct census census;
	struct subject subjects[BATCH];
	VEC(uint64_t) again;
	VEC(struct memory_piece) pieces;
};

uint64_t stands_hash(uint32_t recipe, const uint32_t *choices, uint32_t nr)
{
	uint64_t hash = map_hash(recipe);

	for (uint32_t i = 0; i < nr; i++)
		hash = map_hash(hash * 31 + choices[i]);
	return hash;
}

/* ---- one task ---- */

/* A word that crosses the end of a block is nothing that a recipe leads to. */
static bool read_word(struct subject *x, uint64_t addr, uint64_t *word)
{
	return snapshot_number(&x->snapshot, addr, sizeof(*word), word) ||
	       (snapshot_add(&x->snapshot, addr - addr % BLOCK_BYTES, BLOCK_BYTES) &&
		snapshot_number(&x->snapshot, addr, sizeof(*word), word));
}

static uint64_t word_at(struct walk *w, uint64_t addr)
{
	uint64_t word;

	w->is_broken |= !read_word(w->subject, addr, &word);
	vec_push(&w->subject->used, (struct used){ addr, word });
	return word;
}

static uint64_t number_at(struct walk *w, uint64_t addr, unsigned bytes)
{
	uint64_t mask = ~UINT64_C(0) >> (64 - 8 * bytes);

	return word_at(w, addr & ~UINT64_C(7)) >> addr % 8 * 8 & mask;
}

static uint64_t follow(struct walk *w, uint64_t addr)
{
	uint64_t to = word_at(w, addr);

	w->is_broken |= !to;
	return to;
}

static uint32_t choose(struct walk *w, uint32_t edge)
{
	w->trail.choices[w->trail.nr_choices++] = edge;
	return edge;
}

static uint32_t find_case(struct walk *w, const struct wire_node *n, uint64_t addr)
{
	uint64_t value = number_at(w, addr + n->off, n->bytes);
	uint32_t edge = n->first, last = n->first + n->nr - 1;

	while (edge < last && w->s->edges.v[edge].value != value)
		edge++;
	w->is_broken |= !n->other && w->s->edges.v[edge].value != value;
	return choose(w, edge);
}

static uint32_t find_state(struct walk *w, const struct wire_node *n, uint64_t addr)
{
	uint64_t state = number_at(w, addr + n->off, n->bytes);

	if (state >= n->nr) {
		w->is_broken = true;
		state = 0;
	}
	return choose(w, n->first + state);
}

static uint32_t find_dyn(struct walk *w, const struct wire_node *n, uint64_t *addr)
{
	const uint64_t *edge = map_get(&w->s->dyns, word_at(w, *addr + n->other));

	*addr = follow(w, *addr + n->off);
	return choose(w, edge ? *edge : 0);
}

static uint32_t take_fork(struct walk *w, const struct wire_node *n, uint64_t addr)
{
	if (n->nr > 1 && w->nr_forks < MAX_FORKS)
		w->forks[w->nr_forks++] = (struct fork){ n->first + 1, n->first + n->nr, addr };
	else
		w->is_broken |= n->nr > 1;
	return n->first;
}

/* The end of a branch: where the next one begins; 0: that was the last. */
static uint32_t next_branch(struct walk *w, uint64_t *addr)
{
	struct fork *f = w->nr_forks ? &w->forks[w->nr_forks - 1] : NULL;

	if (!f)
		return 0;
	*addr = f->addr;
	w->nr_forks -= f->next + 1 == f->end;
	return f->next++;
}

/* The edge to take at a node, 0: there is none any more. */
static uint32_t step(struct walk *w, const struct wire_node *n, uint64_t *addr)
{
	switch (n->kind) {
	case WIRE_NODE_STATE:
		return find_state(w, n, *addr);
	case WIRE_NODE_CASE:
		return find_case(w, n, *addr);
	case WIRE_NODE_DEREF:
		*addr = follow(w, *addr + n->off);
		return n->first;
	case WIRE_NODE_DYN:
		return find_dyn(w, n, addr);
	case WIRE_NODE_FORK:
		return take_fork(w, n, *addr);
	default:
		return next_branch(w, addr);
	}
}

/* As the agent goes; it has its own, which reads its own memory, on a path that is hot. */
static bool walk(struct walk *w, uint64_t addr)
{
	uint32_t edge = w->trail.recipe;

	for (unsigned i = 0; i < MAX_VISITS; i++) {
		const struct wire_edge *e = &w->s->edges.v[edge];
		const struct wire_node *n = &w->s->nodes.v[e->node];

		addr += e->off;
		edge = step(w, n, &addr);
		if (w->is_broken)
			return false;
		if ((n->kind == WIRE_NODE_END && !edge) || w->trail.nr_choices == WIRE_MAX_CHOICES)
			return true;
	}
	return false;
}

/* Is the copy of that very task, and does it wait? */
static bool is_idle(const struct look *l, struct subject *x)
{
	const struct census_task *t = x->task;
	const struct census_table *table = &l->census.tables.v[t->table];
	uint32_t id_off = table->shape->id_off(table->found);
	unsigned state = table->shape->state_word(t->table_word);
	uint64_t header[TASK_HEADER_BYTES / 8], id = t->id;

	for (unsigned i = 0; i < ARRAY_SIZE(header); i++)
		if (!read_word(x, t->addr + 8 * i, &header[i]))
			return false;
	vec_push(&x->used, (struct used){ t->addr + 8 * state, header[state] });
	return (!id_off || read_word(x, t->addr + id_off, &id)) && id == t->id &&
	       header[t->table_word] == table->addr &&
	       table->shape->look(table->found, header, t->table_word).state == TASK_IDLE;
}

/* ---- all of them ---- */

static void copy_first(struct look *l, size_t nr)
{
	struct memory_piece pieces[BATCH];

	for (size_t i = 0; i < nr; i++) {
		struct subject *x = &l->subjects[i];
		uint64_t addr = x->task->addr;
		uint64_t len = MIN((uint64_t)FIRST_BYTES, PAGE_BYTES - addr % PAGE_BYTES);

		snapshot_reset(&x->snapshot);
		x->used.nr = 0;
		pieces[i] = (struct memory_piece){
			.addr = addr,
			.into = snapshot_reserve(&x->snapshot, addr, len),
			.len = len,
		};
	}
	memory_read_pieces(l->census.memory, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (!pieces[i].was_read)
			snapshot_reset(&l->subjects[i].snapshot);
}

/* UINT32_MAX: there are too many, as in a program that makes fun of us. */
static uint32_t number_of(struct stands *s, const struct stands_trail *t)
{
	uint64_t *index =
		map_put(&s->by_hash, stands_hash(t->recipe, t->choices, t->nr_choices), NULL);

	if (!*index && s->trails.nr == STANDS_MAX_TRAILS)
		return UINT32_MAX;
	if (!*index) {
		vec_push(&s->trails, *t);
		*index = s->trails.nr;
	}
	return *index - 1;
}

/* What was used is read again: that memory was given back meanwhile, maybe nobody tells. */
static void compare(struct look *l, struct subject **subjects, size_t nr, bool *are_same)
{
	size_t at = 0;

	l->again.nr = l->pieces.nr = 0;
	for (size_t i = 0; i < nr; i++)
		vec_each (u, &subjects[i]->used) {
			vec_push(&l->pieces, (struct memory_piece){ .addr = u->addr, .len = 8 });
			vec_push(&l->again, 0);
		}
	for (size_t i = 0; i < l->pieces.nr; i++)
		l->pieces.v[i].into = &l->again.v[i];
	memory_read_pieces(l->census.memory, l->pieces.v, l->pieces.nr);
	for (size_t i = 0; i < nr; i++) {
		are_same[i] = true;
		vec_each (u, &subjects[i]->used) {
			are_same[i] &= l->pieces.v[at].was_read && l->again.v[at] == u->word;
			at++;
		}
	}
}

static void look_at(struct look *l, size_t nr)
{
	struct subject *found[BATCH];
	bool are_same[BATCH];
	size_t nr_found = 0;
	uint64_t ticks = clock_ticks(l->s->clock);

	copy_first(l, nr);
	for (size_t i = 0; i < nr; i++) {
		struct subject *x = &l->subjects[i];
		struct walk w = { .s = l->s,
				  .subject = x,
				  .trail = { .recipe = x->table->recipe } };

		if (!is_idle(l, x) || !walk(&w, x->task->addr))
			continue;
		x->trail = w.trail;
		found[nr_found++] = x;
	}
	compare(l, found, nr_found, are_same);
	for (size_t i = 0; i < nr_found; i++) {
		struct stand stand = { .task = found[i]->task->id,
				       .ticks = ticks,
				       .type = found[i]->table->type };

		stand.trail = are_same[i] ? number_of(l->s, &found[i]->trail) : UINT32_MAX;
		if (stand.trail != UINT32_MAX && l->s->list.nr < STANDS_MAX)
			vec_push(&l->s->list, stand);
	}
}

static const struct stands_table *table_of(const struct look *l, const struct census_task *t)
{
	const struct census_table *table = &l->census.tables.v[t->table];
	const struct stands_object *o = &l->s->objects.v[table->object];

	return &o->tables[table->found - o->d->tables];
}

static void look_at_all(struct look *l)
{
	size_t nr = 0;

	vec_each (t, &l->census.tasks) {
		const struct stands_table *table = table_of(l, t);

		if (!table->recipe)
			continue;
		l->subjects[nr].task = t;
		l->subjects[nr++].table = table;
		if (nr == BATCH) {
			look_at(l, nr);
			nr = 0;
		}
	}
	look_at(l, nr);
}

bool stands_look(struct stands *s, struct memory *m)
{
	struct look *l = xcalloc(1, sizeof(*l));
	struct objects objects = { 0 };
	size_t kept = 0;

	l->s = s;
	/* a library may have gone, and another one lie there */
	vec_each (o, &s->objects)
		if (objects_match(m, o->base, o->d)) {
			s->objects.v[kept++] = *o;
			vec_push(&objects.list,
				 (struct object){ .base = o->base, .d = (struct discovery *)o->d });
		}
	s->objects.nr = kept;
	census_init(&l->census, m, &objects);
	for (size_t i = 0; i < BATCH; i++)
		snapshot_init(&l->subjects[i].snapshot, m);
	look_at_all(l);
	for (size_t i = 0; i < BATCH; i++) {
		snapshot_release(&l->subjects[i].snapshot);
		vec_release(&l->subjects[i].used);
	}
	vec_release(&l->again);
	vec_release(&l->pieces);
	census_release(&l->census);
	vec_release(&objects.list); /* what was discovered is not ours */
	free(l);
	return memory_is_there(m) && !m->is_given_up;
}

void stands_release(struct stands *s)
{
	vec_release(&s->objects);
	vec_release(&s->nodes);
	vec_release(&s->edges);
	vec_release(&s->list);
	vec_release(&s->trails);
	map_release(&s->dyns);
	map_release(&s->by_hash);
}
