// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who can wake a task: a waker is two words beside each other, the runtime's table of wakers and
 * the task. None anywhere is proof that nobody can; one somewhere is no proof that somebody will.
 */
#include <string.h>

#include "walk/ties.h"

#define CHUNK_BYTES (1 << 20)

struct search {
	struct memory *memory;
	struct map tables; /* of wakers, by address */
	struct map tasks;  /* that nobody was found to wake, by address */
	uint64_t *words;
};

/* A waker may lie across two chunks, so each begins with the last word of the one before. */
static void scan_chunk(struct search *s, uint64_t addr, uint64_t end_addr)
{
	size_t nr = (end_addr - addr) / 8;

	if (!memory_read(s->memory, addr, s->words, nr * 8))
		return;
	for (size_t i = 0; i < nr; i++) {
		if (!map_get(&s->tables, s->words[i]))
			continue;
		if (i)
			map_del(&s->tasks, s->words[i - 1], NULL);
		if (i + 1 < nr)
			map_del(&s->tasks, s->words[i + 1], NULL);
	}
}

static void scan_range(void *arg, uint64_t addr, uint64_t end_addr)
{
	for (; addr + 8 < end_addr; addr += CHUNK_BYTES - 8)
		scan_chunk(arg, addr, MIN(end_addr, addr + CHUNK_BYTES));
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
	struct search s = { .memory = t->census->memory, .words = xmalloc(CHUNK_BYTES) };

	for (size_t i = 0; i < objects->list.nr; i++)
		has_tables[i] = add_tables(&s, &objects->list.v[i]);
	vec_each (tie, &t->idle)
		if (is_asked(t, tie->task, has_tables))
			map_put(&s.tasks, t->census->tasks.v[tie->task].addr, NULL);
	if (s.tasks.nr)
		vec_each (a, &s.memory->areas)
			if (a->may_read && a->may_write && a->is_private)
				memory_each_present(s.memory, a, scan_range, &s);
	vec_each (tie, &t->idle) {
		if (!map_get(&s.tasks, t->census->tasks.v[tie->task].addr) ||
		    !is_still_idle(t, tie->task))
			continue;
		vec_push(&stuck.tasks, (struct stuck_task){ .wants = tie });
	}
	if (stuck.tasks.nr)
		vec_push(&found->all, stuck);
	map_release(&s.tables);
	map_release(&s.tasks);
	free(s.words);
	free(has_tables);
}
