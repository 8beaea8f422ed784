// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who can wake a task. All runtimes count references to a task in the word that has its state: one
 * that is idle, and that nothing refers to which could wake it, stays so. A waker is no proof that
 * somebody will use it.
 */
#include "walk/ties.h"

/* NULL: debug info does not tell. */
static const char *future_of(const struct census *c, const struct census_table *t)
{
	struct layouts *layouts = c->objects->list.v[t->object].layouts;
	struct task_place place;

	return layouts && t->shape->locate(layouts, t->found, &place)
		       ? layouts_get(layouts, place.type)->name
		       : NULL;
}

/* Are these references only those that an executor keeps for itself? None keeps more than one. */
static bool are_kept(const struct census *c, const struct census_table *t, uint64_t nr)
{
	const char *future;

	if (nr != 1 || !t->shape->nr_kept)
		return nr == 0;
	future = future_of(c, t);
	return future && nr <= t->shape->nr_kept(future);
}

static bool is_without(const struct census *c, uint32_t task)
{
	const struct census_task *t = &c->tasks.v[task];
	const struct census_table *table = &c->tables.v[t->table];
	uint64_t header[TASK_HEADER_BYTES / 8];
	struct task_look look;

	/* few are left to be read once more: each takes a system call */
	if (!table->shape || table->found->kind == TRACE_BLOCKING ||
	    !are_kept(c, table, t->nr_wakers) ||
	    !memory_read(c->memory, t->addr, header, sizeof(header)) ||
	    header[t->table_word] != table->addr)
		return false;
	look = table->shape->look(table->found, header, t->table_word);
	return look.state == TASK_IDLE && are_kept(c, table, look.nr_wakers);
}

void ties_find_without_waker(const struct ties *t, struct stuck_list *found)
{
	struct stuck stuck = { .rule = "no-waker" };

	vec_each (tie, &t->idle)
		if (is_without(t->census, tie->task))
			vec_push(&stuck.tasks, (struct stuck_task){ .wants = tie });
	if (stuck.tasks.nr)
		vec_push(&found->all, stuck);
}
