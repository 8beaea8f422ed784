// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/findings.h"

#include <string.h>
#include <time.h>

#define AGAIN_NS   100000000
#define NR_AGAIN   3   /* looks at most, until each task was read once */
#define MIN_GROWTH 100 /* tasks, and a tenth of those that were */

void findings_init(struct findings *f, const struct look *l, const char *filter)
{
	*f = (struct findings){
		.look = l,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.filter = filter,
		.are_wanted = xcalloc(l->census.tasks.nr + 1, sizeof(*f->are_wanted)),
		.are_read = xcalloc(l->census.tasks.nr + 1, sizeof(*f->are_read)),
	};
	ties_init(&f->ties, &l->census);
}

void findings_release(struct findings *f)
{
	ties_release(&f->ties);
	stuck_release(&f->found);
	vec_release(&f->growth);
	free(f->are_wanted);
	free(f->are_read);
}

/* What runs on a thread of its own has no future that could have a guard. */
static void note_read(struct findings *f, size_t index, const struct walk_result *r)
{
	const struct census_task *t = &f->look->census.tasks.v[index];

	if (r->status == WALK_OK || r->status == WALK_GONE ||
	    look_table(f->look, t)->kind == TRACE_BLOCKING)
		f->are_read[index] = true;
}

void findings_add(void *findings, size_t index, const struct walk_result *r)
{
	struct findings *f = findings;

	note_read(f, index, r);
	if (r->status != WALK_OK)
		return;
	f->are_wanted[index] =
		look_fits(f->look, f->filter, &f->look->census.tasks.v[index], r->tree);
	pthread_mutex_lock(&f->lock);
	ties_add(&f->ties, index, r->tree);
	pthread_mutex_unlock(&f->lock);
}

/* ---- what is certain ---- */

/* A second look: ties of the same tasks, a little later. */
struct again {
	struct findings *findings;
	struct ties ties;
	struct stuck_list found;
};

static void add_again(void *again, size_t index, const struct walk_result *r)
{
	struct again *a = again;

	note_read(a->findings, index, r);
	if (r->status != WALK_OK)
		return;
	pthread_mutex_lock(&a->findings->lock);
	ties_add(&a->ties, index, r->tree);
	pthread_mutex_unlock(&a->findings->lock);
}

static bool has_unread(const struct findings *f)
{
	return memchr(f->are_read, false, f->look->census.tasks.nr);
}

static bool has_by_guards(const struct stuck_list *found)
{
	vec_each (s, &found->all)
		if (ties_is_by_guards(s))
			return true;
	return false;
}

static bool is_among(const struct stuck_list *found, const struct stuck *s)
{
	vec_each (x, &found->all)
		if (ties_is_same(x, s))
			return true;
	return false;
}

/* Tasks are read one after the other, so what was seen may never have been true at one moment. */
static void walk_again(struct findings *f)
{
	const struct census *c = &f->look->census;
	struct again again = { .findings = f };
	size_t kept = 0;

	nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	ties_init(&again.ties, c);
	walk_tasks(c, &(struct walk_opts){ .ties = true }, add_again, &again);
	ties_settle(&again.ties);
	ties_find_cycles(&again.ties, &again.found);
	vec_each (s, &f->found.all) {
		if (!ties_is_by_guards(s) || is_among(&again.found, s))
			f->found.all.v[kept++] = *s;
		else
			vec_release(&s->tasks);
	}
	f->found.all.nr = kept;
	stuck_release(&again.found);
	ties_release(&again.ties);
}

/* A guard may have been moved away, and a task that could not be read may have the lock now. */
static void drop_doubtful(struct findings *f)
{
	size_t kept = 0;

	vec_each (s, &f->found.all) {
		if (!ties_is_by_guards(s)) {
			f->found.all.v[kept++] = *s;
			continue;
		}
		vec_release(&s->tasks);
		f->nr_doubtful++;
	}
	f->found.all.nr = kept;
}

static void confirm(struct findings *f)
{
	bool is_live = f->look->memory->pid;

	for (unsigned i = 0; is_live && i < NR_AGAIN && has_by_guards(&f->found); i++)
		if (i == 0 || has_unread(f))
			walk_again(f);
	if (has_unread(f))
		drop_doubtful(f);
}

static bool has_wanted(const struct findings *f, const struct stuck *s)
{
	vec_each (t, &s->tasks)
		if (f->are_wanted[t->wants->task])
			return true;
	return false;
}

/* Of many tasks that have the same fault, each by itself, those that fit. */
static void keep_wanted(const struct findings *f, struct stuck *s)
{
	size_t kept = 0;

	vec_each (t, &s->tasks)
		if (f->are_wanted[t->wants->task])
			s->tasks.v[kept++] = *t;
	s->tasks.nr = kept;
}

void findings_conclude(struct findings *f)
{
	struct stuck_list *found = &f->found;
	size_t kept = 0;

	ties_settle(&f->ties);
	ties_find_cycles(&f->ties, found);
	confirm(f);
	ties_find_without_waker(&f->ties, found);
	vec_each (s, &found->all) {
		if (!has_wanted(f, s)) {
			vec_release(&s->tasks);
			f->nr_left_out++;
			continue;
		}
		if (!ties_is_cycle(s))
			keep_wanted(f, s);
		found->all.v[kept++] = *s;
	}
	found->all.nr = kept;
}

void findings_count(const struct look *l, struct map *counts)
{
	vec_each (t, &l->census.tasks)
		++*map_put(counts, l->census.tables.v[t->table].addr, NULL);
}

static int by_growth(const void *a, const void *b)
{
	const struct growth *x = a, *y = b;
	uint64_t more_x = x->after - x->before, more_y = y->after - y->before;

	return more_x > more_y ? -1 : more_x < more_y;
}

void findings_compare(struct findings *f, const struct map *before)
{
	const struct census *c = &f->look->census;
	const struct tree none = { 0 };
	struct map now = MAP_INIT;

	findings_count(f->look, &now);
	for (uint32_t i = 0; i < c->tables.nr; i++) {
		const struct census_table *t = &c->tables.v[i];
		const uint64_t *was = map_get(before, t->addr), *is = map_get(&now, t->addr);
		struct growth g = { i, was ? *was : 0, is ? *is : 0 };
		struct layouts *layouts = c->objects->list.v[t->object].layouts;
		struct task_place place;

		if (g.after < g.before + MAX((uint64_t)MIN_GROWTH, g.before / 10))
			continue;
		if (!look_fits(f->look, f->filter, &(struct census_task){ .table = i }, &none)) {
			f->nr_left_out++;
			continue;
		}
		if (layouts && t->shape && t->shape->locate(layouts, t->found, &place))
			g.task_bytes = place.task_bytes;
		vec_push(&f->growth, g);
	}
	if (f->growth.nr)
		qsort(f->growth.v, f->growth.nr, sizeof(*f->growth.v), by_growth);
	map_release(&now);
}
