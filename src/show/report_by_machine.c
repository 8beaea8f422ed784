// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `report --by=machine`: the report of async-std's perf scripts, in its five parts: machines,
 * tasks, parents, machines never seen running, and ghost tasks.
 */
#include <assert.h>

#include "analyze/by_machine.h"
#include "show/report_by.h"

static_assert(offsetof(struct by_machine_row, thread) == 0, "as all rows of threads are");
static_assert(offsetof(struct by_machine_task, task) == 0, "as all rows of tasks are");

/* Machines */

static bool mean_ns(const struct table *t, const void *r, uint64_t *value)
{
	const struct by_machine_row *row = r;

	*value = row->nr_timed ? row->timed_ns / row->nr_timed : 0;
	return row->nr_timed;
}

#define AT(member) .at = offsetof(struct by_machine_row, member)
#define COLUMN_BLOCKADES                                                                \
	{                                                                               \
		.key = "blockades", .head = "BLOCKADES", .hides_zero = true, .warn = 1, \
		AT(nr_blockades)                                                        \
	}

static const struct column machine_columns[] = {
	{ .key = "thread", .number = say_thread_number },
	{ .key = "tid", .head = "TID", .unit = COLUMN_NUMBER, .number = say_thread_tid },
	{ .head = "RUNTIME", .rank = 1, .text = say_thread_runtime_label },
	{ .key = "runtime", .text = say_thread_runtime },
	{ .key = "runtime_id", .number = say_thread_runtime_id },
	{ .key = "tasks", .head = "TASKS", AT(nr_tasks) },
	{ .key = "polls", .head = "POLLS", AT(polls) },
	COLUMN_BLOCKADES,
	{ .key = "completed", .head = "COMPLETED", AT(nr_completed) },
	{ .key = "mean_completion_ns", .head = "MEAN TIME", .unit = COLUMN_NS, .number = mean_ns },
	{ .key = "name", .head = "NAME", .text = say_thread_name },
};

#undef AT

/* Tasks */

/* From spawn to end, where both were seen. */
static bool run_ns(const struct table *t, const void *r, uint64_t *value)
{
	const struct model_task *task = r;

	*value = task->end_ns - task->spawn_ns;
	return task->spawn_exact && task->end != MODEL_ALIVE;
}

/* A mark in the text; as data `spawn` says it. */
static const char *ghost(const struct table *t, const void *r, struct strbuf *scratch)
{
	return ((const struct model_task *)r)->spawn_exact ? NULL : "ghost";
}

#define AT(member) .at = offsetof(struct by_machine_task, member)

static const struct column task_columns[] = {
	COLUMNS_OF_IDENTITY,
	{ .key = "parent", .head = "PARENT", .unit = COLUMN_NUMBER, .number = say_task_parent },
	{ .key = "spawn", .text = say_task_spawn },
	{ .key = "spawn_ns", .head = "SPAWNED", .unit = COLUMN_NS, AT(task.spawn_ns) },
	{ .head = "GHOST", .rank = 1, .text = ghost },
	{ .key = "end_ns", .unit = COLUMN_NS, .number = say_task_end_ns },
	{ .key = "end", .head = "END", .text = say_task_end },
	{ .key = "run_ns", .head = "RUN", .unit = COLUMN_NS, .number = run_ns },
	{ .key = "polls", .head = "POLLS", .rank = 3, AT(task.polls) },
	{ .key = "busy_ns",
	  .head = "BUSY",
	  .unit = COLUMN_NS,
	  .rank = 4,
	  AT(task.ns[MODEL_RUNNING]) },
	COLUMN_BLOCKADES,
	{ .key = "max_poll_ns",
	  .head = "MAXPOLL",
	  .unit = COLUMN_NS,
	  .rank = 2,
	  .warn = SLOW_NS,
	  .bad = VERY_SLOW_NS,
	  AT(task.max_poll_ns) },
	{ .head = "TYPE", .draw = draw_task },
};

#undef AT

/* By which tasks are chosen: as the part is sorted. */
static uint64_t rank_of(void *arg, const struct by_machine_task *task)
{
	return table_rank(arg, task);
}

static void finish_tasks(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_machine_task *tasks = by_machine_get_tasks(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &tasks[i]);
	t->nr_in_all = by_machine_get_nr_tasks(t->state);
}

static const struct table_kind tasks_part = {
	.name = "task",
	.head = "TASKS",
	.what = "task",
	.sort = "blockades",
	.limit = 20,
	.data_limit = 1000,
	.columns = task_columns,
	.nr_columns = ARRAY_SIZE(task_columns),
	.chooses_early = true,
	.finish = finish_tasks,
};

/* Parents */

static const struct model_key *key_of(const void *r)
{
	return &((const struct by_machine_parent *)r)->key;
}

static bool parent_id(const struct table *t, const void *r, uint64_t *value)
{
	*value = key_of(r)->id;
	return true;
}

static const char *parent_runtime(const struct table *t, const void *r, struct strbuf *scratch)
{
	return recording_type_library(table_rec(t), key_of(r)->type);
}

static bool parent_runtime_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(key_of(r)->runtime, table_rec(t)->nr_runtimes, value);
}

static const char *parent_type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_type(t, key_of(r)->type, scratch);
}

static bool parent_type_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(key_of(r)->type, table_rec(t)->nr_types, value);
}

static bool blocked_permille(const struct table *t, const void *r, uint64_t *value)
{
	const struct by_machine_parent *row = r;

	*value = (row->nr_blocked * 2000 + row->nr_children) / (row->nr_children * 2);
	return true;
}

static void draw_parent(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	draw_type(t, key_of(r)->type, true, width, out);
}

#define AT(member) .at = offsetof(struct by_machine_parent, member)

static const struct column parent_columns[] = {
	{ .key = "id", .head = "ID", .unit = COLUMN_NUMBER, .number = parent_id },
	{ .key = "runtime", .text = parent_runtime },
	{ .key = "runtime_id", .number = parent_runtime_id },
	{ .key = "type", .text = parent_type },
	{ .key = "type_id", .number = parent_type_id },
	{ .key = "children", .head = "CHILDREN", AT(nr_children) },
	{ .key = "blocked_children", .head = "BLOCKED", .hides_zero = true, AT(nr_blocked) },
	{ .key = "blocked_permille",
	  .head = "RATIO",
	  .unit = COLUMN_PERMILLE,
	  .number = blocked_permille },
	{ .head = "TYPE", .draw = draw_parent },
};

static void finish_parents(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_machine_parent *parents = by_machine_get_parents(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &parents[i]);
	t->nr_in_all = by_machine_get_nr_parents(t->state);
}

static const struct table_kind parents_part = {
	.name = "parent",
	.head = "PARENT TASKS",
	.what = "parent",
	.empty = "No task was seen to spawn another.",
	.sort = "children",
	.limit = 20,
	.data_limit = 1000,
	.columns = parent_columns,
	.nr_columns = ARRAY_SIZE(parent_columns),
	.finish = finish_parents,
};

/* All of it */

static uint64_t blockade_ns(const struct report_table *t)
{
	return analyze_config_counts(t->opts->config)[COUNT_BLOCKADE];
}

static void init(struct report_table *t)
{
	t->state = by_machine_new(&(struct by_machine_opts){
		.rec = t->rec,
		.blockade_ns = blockade_ns(t),
		.limit = t->parts.v[0]->limit,
		.rank = rank_of,
		.arg = t->parts.v[0],
	});
	vec_push(&t->sinks, (struct recording_sink){ &by_machine_ops, t->state });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_machine_row *rows = by_machine_get_rows(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &rows[i]);
}

static void release(void *state)
{
	by_machine_free(state);
}

static uint64_t nr_idle(const struct report_table *t)
{
	return by_machine_get_nr_idle(t->state);
}

static uint64_t nr_ghosts(const struct report_table *t)
{
	return by_machine_get_nr_ghosts(t->state);
}

static const struct table_kind *const parts[] = { &tasks_part, &parents_part, NULL };

static const struct table_sum sums[] = {
	{ "machines_never_running", "Machines never seen running a task", nr_idle, COLUMN_COUNT },
	{ "ghost_tasks", "Ghost tasks, whose spawn was not seen", nr_ghosts, COLUMN_COUNT },
	{ "blockade_ns", "A blockade is a poll of at least", blockade_ns, COLUMN_NS },
	{ 0 },
};

const struct table_kind table_by_machine = {
	.name = "machine",
	.summary = "threads that run tasks, tasks and parents: what blocked whom",
	.head = "MACHINES",
	.what = "machine",
	.empty = "No thread was seen to run a task.",
	.sort = "tasks",
	.limit = 40,
	.columns = machine_columns,
	.nr_columns = ARRAY_SIZE(machine_columns),
	.init = init,
	.finish = finish,
	.release = release,
	.parts = parts,
	.sums = sums,
};
