// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/stands.h"

#include <string.h>

#include "walk/census.h"
#include "walk/snapshot.h"
#include "wire/follow.h"

#define BATCH	    128
#define PAGE_BYTES  4096
#define FIRST_BYTES 1024 /* of a task: most of what a walk needs */
#define BLOCK_BYTES 256	 /* of all else: lies in one page */

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

/* A task's, of which is kept what was read. */
struct follow_memory {
	const struct stands *s;
	struct subject *subject;
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

static inline bool follow_word(struct follow_memory *m, uint64_t addr, uint64_t *word)
{
	if (!read_word(m->subject, addr, word))
		return false;
	vec_push(&m->subject->used, (struct used){ addr, *word });
	return true;
}

static inline uint32_t follow_dyn(struct follow_memory *m, uint64_t table)
{
	const uint64_t *edge = map_get(&m->s->dyns, table);

	return edge ? *edge : 0;
}

/* All that was read is compared afterwards: no need to know what depends on it. */
static inline void follow_chose(struct follow_memory *m, uint32_t edge)
{
}

static inline void follow_saw(struct follow_memory *m, uint32_t base, uint64_t addr, uint64_t value,
			      uint64_t mask)
{
}

static inline void follow_saw_other(struct follow_memory *m)
{
}

static inline uint32_t follow_moved(struct follow_memory *m, uint32_t base, uint64_t addr,
				    uint64_t to)
{
	return base;
}

static bool walk(const struct stands *s, struct subject *x)
{
	struct follow_memory m = { s, x };
	struct follow f;

	if (!follow_recipe(&f, &m, s->nodes.v, s->edges.v, x->table->recipe, x->task->addr))
		return false;
	x->trail.recipe = x->table->recipe;
	x->trail.nr_choices = f.nr_choices;
	memcpy(x->trail.choices, f.choices, f.nr_choices * sizeof(*f.choices));
	return true;
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

		if (is_idle(l, x) && walk(l->s, x))
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
