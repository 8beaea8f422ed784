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

static bool is_without(const struct census *c, uint32_t task)
{
	const struct census_task *t = &c->tasks.v[task];
	const struct census_table *table = &c->tables.v[t->table];
	uint64_t header[TASK_HEADER_BYTES / 8];
	struct task_look look;
	const char *future;

	/* no executor keeps more than one; few are left to be read once more */
	if (!table->shape || table->found->kind == TRACE_BLOCKING || t->nr_wakers > 1 ||
	    !memory_read(c->memory, t->addr, header, sizeof(header)) ||
	    header[t->table_word] != table->addr)
		return false;
	look = table->shape->look(table->found, header, t->table_word);
	if (look.state != TASK_IDLE || !table->shape->nr_kept)
		return look.state == TASK_IDLE && !look.nr_wakers;
	future = future_of(c, table);
	return future && look.nr_wakers <= table->shape->nr_kept(future);
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
