// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who can wake a task: a waker is two words beside each other, the runtime's table of wakers and
 * the task. None anywhere is proof that nobody can; one somewhere is no proof that somebody will.
 */
#include "walk/scan.h"
#include "walk/ties.h"

struct search {
	const struct ties *ties;
	struct map tables; /* of wakers, by address */
	uint8_t *may_wake; /* by task of the census: somebody may wake it */
};

static void on_table(void *arg, unsigned worker, const struct scan_piece *piece, uint64_t addr,
		     uint64_t value)
{
	struct search *s = arg;
	const uint64_t beside[] = { addr - 8, addr + 8 };
	uint64_t word;

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		const uint64_t *task = NULL;

		if (scan_read(piece, s->ties->census->memory, beside[i], &word, sizeof(word)))
			task = map_get(&s->ties->tasks, word);
		if (task)
			__atomic_store_n(&s->may_wake[*task], true, __ATOMIC_RELAXED);
	}
}

static bool is_waker(const struct discovery *d, const struct found_table *t)
{
	const struct task_shape *shape = task_shape(d, t);

	return shape->is_waker && shape->is_waker(t);
}

/* Only where all tables of wakers are known: of a task of Tokio, with symbols. */
static bool add_tables(struct search *s, const struct object *o)
{
	bool has_any = false;

	for (uint32_t i = 0; i < o->d->nr_tables; i++)
		if (is_waker(o->d, &o->d->tables[i])) {
			map_put(&s->tables, o->base + o->d->tables[i].plan.va, NULL);
			has_any = true;
		}
	return has_any;
}

static bool is_asked(const struct ties *t, uint32_t task, const bool *has_tables)
{
	const struct census_table *table = &t->census->tables.v[t->census->tasks.v[task].table];

	return has_tables[table->object] && table->shape && table->shape->is_waker &&
	       table->found->kind != TRACE_BLOCKING;
}

/* It may have been woken or polled since it was looked at. */
static bool is_still_idle(const struct ties *t, uint32_t task)
{
	const struct census_task *was = &t->census->tasks.v[task];
	struct census_task now;

	return census_find(t->census, was->addr, &now) && now.id == was->id &&
	       now.state == TASK_IDLE;
}

void ties_find_without_waker(const struct ties *t, struct stuck_list *found)
{
	const struct objects *objects = t->census->objects;
	bool *has_tables = xcalloc(objects->list.nr + 1, sizeof(*has_tables));
	struct stuck stuck = { .rule = "no-waker" };
	struct search s = { .ties = t, .may_wake = xcalloc(t->census->tasks.nr + 1, 1) };

	for (size_t i = 0; i < objects->list.nr; i++)
		has_tables[i] = add_tables(&s, &objects->list.v[i]);
	if (t->idle.nr)
		scan_memory(t->census->memory, &s.tables, on_table, &s);
	vec_each (tie, &t->idle)
		if (is_asked(t, tie->task, has_tables) && !s.may_wake[tie->task] &&
		    is_still_idle(t, tie->task))
			vec_push(&stuck.tasks, (struct stuck_task){ .wants = tie });
	if (stuck.tasks.nr)
		vec_push(&found->all, stuck);
	map_release(&s.tables);
	free(s.may_wake);
	free(has_tables);
}
