// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who can wake a task. Some runtimes count the wakers of a task. Else all memory is searched: a
 * waker is two words beside each other, the runtime's table of wakers and the task. None anywhere
 * is proof that nobody can; one somewhere is no proof that somebody will.
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

static const struct census_table *table_of(const struct census *c, uint32_t task)
{
	return &c->tables.v[c->tasks.v[task].table];
}

/* It may have been woken or polled since it was looked at. */
static bool is_still_idle(const struct census *c, uint32_t task)
{
	const struct census_task *was = &c->tasks.v[task];
	struct census_task now;

	return census_find(c, was->addr, &now) && now.id == was->id && now.state == TASK_IDLE;
}

/* By the task's own count. Who is idle and has none at one moment stays so. */
static bool counts_none(const struct census *c, uint32_t task)
{
	const struct census_task *t = &c->tasks.v[task];
	const struct census_table *table = table_of(c, task);
	struct layouts *layouts = c->objects->list.v[table->object].layouts;
	uint64_t header[TASK_HEADER_BYTES / 8];
	struct task_place place;

	return layouts && table->shape->locate(layouts, table->found, &place) &&
	       memory_read(c->memory, t->addr, header, sizeof(header)) &&
	       header[t->table_word] == table->addr &&
	       table->shape->look(table->found, header, t->table_word).state == TASK_IDLE &&
	       !table->shape->nr_wakers(header, t->table_word,
					layouts_get(layouts, place.type)->name);
}

static bool is_without(const struct search *s, uint32_t task, const bool *has_tables)
{
	const struct census *c = s->ties->census;
	const struct census_table *table = table_of(c, task);

	if (!table->shape || table->found->kind == TRACE_BLOCKING)
		return false;
	if (table->shape->nr_wakers)
		return counts_none(c, task);
	return has_tables[table->object] && table->shape->is_waker && !s->may_wake[task] &&
	       is_still_idle(c, task);
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
		if (is_without(&s, tie->task, has_tables))
			vec_push(&stuck.tasks, (struct stuck_task){ .wants = tie });
	if (stuck.tasks.nr)
		vec_push(&found->all, stuck);
	map_release(&s.tables);
	free(s.may_wake);
	free(has_tables);
}
