// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Many tasks at a time: one system call copies all of them, each is decoded from its copy (which
 * may copy further objects), one call reads all of it again. Those that changed meanwhile are tried
 * again one by one.
 */
#include "walk/walker.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "walk/descend.h"

#define BATCH	       256
#define MAX_TRIES      20
#define MAX_TASK_BYTES (UINT64_C(64) << 20)

/* Where the futures of a table's tasks lie; task_bytes 0: not known. */
struct crew {
	const struct census *census;
	const struct walk_opts *opts;
	struct task_place *places; /* by table */
	pthread_mutex_t lock;
	size_t next;	    /* atomic */
	VEC(size_t) broken; /* to be tried once more at the end */
	bool is_end;
	walk_fn *fn;
	void *arg;
};

/* A task that is being looked at. */
struct subject {
	size_t index;
	struct snapshot snapshot;
	struct tree tree;
	struct walk_result result;
	bool is_settled; /* there is no sense in looking again */
};

struct walker {
	struct crew *crew;
	unsigned number;
	pthread_t thread;
	struct types *types; /* by object */
	struct subject subjects[BATCH];
};

static const struct census_task *task_of(const struct walker *w, const struct subject *s)
{
	return &w->crew->census->tasks.v[s->index];
}

static const struct census_table *table_of(const struct walker *w, const struct subject *s)
{
	return &w->crew->census->tables.v[task_of(w, s)->table];
}

static const struct task_place *place_of(const struct walker *w, const struct subject *s)
{
	return &w->crew->places[task_of(w, s)->table];
}

/* A root future has no state but its own, which is somewhere in it. */
static uint64_t state_addr(const struct walker *w, const struct subject *s)
{
	const struct census_task *t = task_of(w, s);
	const struct task_shape *shape = table_of(w, s)->shape;

	return t->addr + (shape ? 8 * shape->state_word(t->table_word) : 0);
}

static void settle(struct subject *s, enum walk_status status)
{
	s->result.status = status;
	s->is_settled = true;
	tree_reset(&s->tree);
}

static void copy_tasks(struct walker *w, struct subject **subjects, size_t nr)
{
	struct memory_piece pieces[BATCH];

	for (size_t i = 0; i < nr; i++) {
		struct subject *s = subjects[i];
		uint64_t addr = task_of(w, s)->addr, len = place_of(w, s)->task_bytes;

		snapshot_reset(&s->snapshot);
		tree_reset(&s->tree);
		pieces[i] = (struct memory_piece){
			.addr = addr,
			.into = snapshot_reserve(&s->snapshot, addr, len),
			.len = len,
		};
	}
	memory_read_pieces(w->crew->census->memory, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		if (!pieces[i].was_read)
			settle(subjects[i], WALK_GONE);
}

static bool is_root(const struct walker *w, const struct subject *s)
{
	return !table_of(w, s)->shape;
}

/* Is the copy of that very task, and not running? */
static bool check_header(struct walker *w, struct subject *s)
{
	const struct census_task *t = task_of(w, s);
	const struct census_table *table = table_of(w, s);
	uint64_t header[TASK_HEADER_BYTES / 8], id = 0;
	const uint8_t *p = snapshot_get(&s->snapshot, t->addr, sizeof(header));
	struct task_look look;
	uint32_t id_off;

	if (is_root(w, s))
		return true;
	id_off = table->shape->id_off(table->found);
	if (p)
		memcpy(header, p, sizeof(header));
	if (!p || header[t->table_word] != table->addr ||
	    (id_off && (!snapshot_number(&s->snapshot, t->addr + id_off, 8, &id) || id != t->id))) {
		settle(s, WALK_GONE);
		return false;
	}
	look = table->shape->look(table->found, header, t->table_word);
	s->result.state = look.state;
	if (look.state == TASK_NONE || look.state == TASK_OVER)
		settle(s, WALK_GONE);
	return look.state == TASK_IDLE || look.state == TASK_SCHEDULED;
}

static void decode(struct walker *w, struct subject *s)
{
	const struct task_place *place = place_of(w, s);
	struct descent d = {
		.census = w->crew->census,
		.types = w->types,
		.snapshot = &s->snapshot,
		.tree = &s->tree,
		.task_addr = task_of(w, s)->addr,
		.wants_locals = w->crew->opts->locals,
		.wants_ties = w->crew->opts->ties,
	};

	s->result.status = WALK_RUNNING;
	if (s->is_settled || !check_header(w, s))
		return;
	descend(&d, table_of(w, s)->object, place->type, task_of(w, s)->addr + place->off);
	s->result.status = d.is_torn ? WALK_BROKEN : WALK_OK;
}

/* Once more, when all else was read twice: a task that was polled meanwhile has begun to by now. */
static void compare_states(struct walker *w, struct subject **subjects, size_t nr, bool *are_same)
{
	struct memory_piece pieces[BATCH];
	uint64_t states[BATCH], before;

	for (size_t i = 0; i < nr; i++)
		pieces[i] = (struct memory_piece){ .addr = state_addr(w, subjects[i]),
						   .into = &states[i],
						   .len = sizeof(states[i]) };
	memory_read_pieces(w->crew->census->memory, pieces, nr);
	for (size_t i = 0; i < nr; i++)
		are_same[i] = are_same[i] && pieces[i].was_read &&
			      snapshot_number(&subjects[i]->snapshot, pieces[i].addr, 8, &before) &&
			      before == states[i];
}

/* One try for all of them. What is not settled then has to be tried again. */
static void try_all(struct walker *w, struct subject **subjects, size_t nr)
{
	struct subject *decoded[BATCH];
	struct snapshot *snapshots[BATCH];
	bool are_same[BATCH];
	size_t nr_decoded = 0;

	copy_tasks(w, subjects, nr);
	for (size_t i = 0; i < nr; i++) {
		decode(w, subjects[i]);
		if (subjects[i]->is_settled || subjects[i]->result.status == WALK_RUNNING)
			continue;
		decoded[nr_decoded] = subjects[i];
		snapshots[nr_decoded++] = &subjects[i]->snapshot;
	}
	snapshot_compare(snapshots, nr_decoded, are_same);
	compare_states(w, decoded, nr_decoded, are_same);
	for (size_t i = 0; i < nr_decoded; i++)
		if (!are_same[i])
			decoded[i]->result.status = WALK_RUNNING;
		else if (decoded[i]->result.status == WALK_OK)
			decoded[i]->is_settled = true;
}

static void tell(struct walker *w, struct subject *s)
{
	if (s->result.status != WALK_OK)
		tree_reset(&s->tree);
	if (s->result.status == WALK_RUNNING)
		s->result.state = TASK_RUNNING;
	s->result.tree = &s->tree;
	w->crew->fn(w->crew->arg, s->index, &s->result);
}

static void begin(struct walker *w, struct subject *s, size_t index)
{
	s->index = index;
	s->is_settled = false;
	s->result = (struct walk_result){ .walker = w->number, .state = task_of(w, s)->state };
}

/* It was tried once. */
static void insist(struct walker *w, struct subject *s)
{
	bool may_change = !w->crew->census->memory->is_core;

	for (unsigned tries = 1; may_change && !s->is_settled && tries < MAX_TRIES; tries++)
		try_all(w, &s, 1);
	if (may_change && s->result.status == WALK_BROKEN && !w->crew->is_end) {
		pthread_mutex_lock(&w->crew->lock);
		vec_push(&w->crew->broken, s->index);
		pthread_mutex_unlock(&w->crew->lock);
	} else {
		tell(w, s);
	}
}

/* Bytes of a task that were moved with something else, or are left of what was freed. */
static bool is_misplaced(const struct walker *w, const struct subject *s)
{
	uint64_t align = place_of(w, s)->align;

	return align && task_of(w, s)->addr % align;
}

static void look_at(struct walker *w, size_t first, size_t nr)
{
	struct subject *known[BATCH];
	size_t nr_known = 0;

	for (size_t i = 0; i < nr; i++) {
		struct subject *s = &w->subjects[i];

		begin(w, s, first + i);
		if (is_misplaced(w, s))
			settle(s, WALK_GONE);
		else if (place_of(w, s)->task_bytes)
			known[nr_known++] = s;
		else
			settle(s, WALK_UNKNOWN);
	}
	try_all(w, known, nr_known);
	for (size_t i = 0; i < nr; i++)
		insist(w, &w->subjects[i]);
}

/* What does not fit may have led to memory that was not there when we began. */
static void look_at_broken(struct walker *w)
{
	struct subject *s = &w->subjects[0];

	memory_refresh(w->crew->census->memory);
	w->crew->is_end = true;
	vec_each (index, &w->crew->broken) {
		begin(w, s, *index);
		try_all(w, &s, 1);
		insist(w, s);
	}
}

static void *work(void *arg)
{
	struct walker *w = arg;
	size_t all = w->crew->census->tasks.nr;

	for (;;) {
		size_t first = __atomic_fetch_add(&w->crew->next, BATCH, __ATOMIC_RELAXED);

		if (first >= all)
			return NULL;
		look_at(w, first, MIN((size_t)BATCH, all - first));
	}
}

static struct walker *walker_new(struct crew *crew, unsigned number)
{
	const struct objects *o = crew->census->objects;
	struct walker *w = xcalloc(1, sizeof(*w));

	w->crew = crew;
	w->number = number;
	w->types = xcalloc(o->list.nr, sizeof(*w->types));
	for (size_t i = 0; i < o->list.nr; i++)
		types_init(&w->types[i], &o->list.v[i], &crew->lock);
	for (size_t i = 0; i < BATCH; i++)
		snapshot_init(&w->subjects[i].snapshot, crew->census->memory);
	return w;
}

static void walker_free(struct walker *w)
{
	for (size_t i = 0; i < w->crew->census->objects->list.nr; i++)
		types_release(&w->types[i]);
	for (size_t i = 0; i < BATCH; i++) {
		snapshot_release(&w->subjects[i].snapshot);
		tree_release(&w->subjects[i].tree);
	}
	free(w->types);
	free(w);
}

/* Only of tables that have tasks: it takes some looking at debug info. */
static void find_places(struct crew *crew)
{
	const struct census *c = crew->census;
	bool *are_used = xcalloc(c->tables.nr + 1, sizeof(*are_used));

	crew->places = xcalloc(c->tables.nr + 1, sizeof(*crew->places));
	vec_each (t, &c->tasks)
		are_used[t->table] = true;
	for (size_t i = 0; i < c->tables.nr; i++) {
		struct layouts *l = c->objects->list.v[c->tables.v[i].object].layouts;

		crew->places[i] = c->tables.v[i].root;
		if (!c->tables.v[i].shape)
			continue;
		if (!are_used[i] || !l ||
		    !c->tables.v[i].shape->locate(l, c->tables.v[i].found, &crew->places[i]) ||
		    crew->places[i].task_bytes > MAX_TASK_BYTES ||
		    crew->places[i].task_bytes < TASK_HEADER_BYTES)
			crew->places[i].task_bytes = 0;
	}
	free(are_used);
}

void walk_tasks(const struct census *c, const struct walk_opts *opts, walk_fn *fn, void *arg)
{
	struct crew crew = {
		.census = c, .opts = opts, .fn = fn, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER
	};
	struct walker *walkers[WALK_MAX_THREADS];
	bool has_thread[WALK_MAX_THREADS] = { false };
	size_t nr = MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), WALK_MAX_THREADS);

	nr = MIN(nr, c->tasks.nr / (2 * BATCH) + 1);
	find_places(&crew);
	for (size_t i = 0; i < nr; i++) {
		walkers[i] = walker_new(&crew, i);
		has_thread[i] = i && !pthread_create(&walkers[i]->thread, NULL, work, walkers[i]);
	}
	work(walkers[0]);
	for (size_t i = 1; i < nr; i++)
		if (has_thread[i])
			pthread_join(walkers[i]->thread, NULL);
	if (crew.broken.nr)
		look_at_broken(walkers[0]);
	for (size_t i = 0; i < nr; i++)
		walker_free(walkers[i]);
	vec_release(&crew.broken);
	free(crew.places);
}
