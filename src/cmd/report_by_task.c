// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=task`: the tasks that stand first by some number. Percentiles need a second pass. */
#include <string.h>

#include "analyze/by_task.h"
#include "base/utf8.h"
#include "cmd/report_by.h"

/* Of more tasks than this percentiles are not told: their histograms would fill the memory. */
#define MAX_DETAILED 1000

static const struct model_task *task_of(const void *r)
{
	return &((const struct by_task_row *)r)->task;
}

static bool id(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->key.id;
	return true;
}

static const char *name(const struct table *t, const void *r, struct strbuf *scratch)
{
	return task_of(r)->name;
}

static const char *runtime(const struct table *t, const void *r, struct strbuf *scratch)
{
	return recording_type_library(table_rec(t), task_of(r)->key.type);
}

static bool runtime_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(task_of(r)->key.runtime, table_rec(t)->nr_runtimes, value);
}

/* Ids repeat in the copies of a runtime. */
static bool copy(const struct table *t, const void *r, uint64_t *value)
{
	return table_rec(t)->nr_runtimes > 1 && runtime_id(t, r, value);
}

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_type(t, task_of(r)->key.type, scratch);
}

static bool type_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(task_of(r)->key.type, table_rec(t)->nr_types, value);
}

static const char *kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_kind_name(task_of(r)->kind);
}

static const char *location(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_location(t, task_of(r)->key.type, scratch);
}

static const char *spawned_at(const struct table *t, const void *r, struct strbuf *scratch)
{
	char *place = recording_spawn_place(table_rec(t), task_of(r));

	if (!place)
		return NULL;
	strbuf_addstr(scratch, place);
	free(place);
	return scratch->s;
}

static bool parent(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->parent.id;
	return task_of(r)->has_parent;
}

static const char *spawn(const struct table *t, const void *r, struct strbuf *scratch)
{
	return task_of(r)->spawn_exact ? "exact" : "first_seen";
}

static bool end_ns(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->end_ns;
	return task_of(r)->end != MODEL_ALIVE;
}

static const char *end(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_end_name(task_of(r)->end);
}

static bool life(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->end_ns - task_of(r)->spawn_ns;
	return true;
}

static bool wakes(const struct table *t, const void *r, uint64_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		*value += task_of(r)->wakes[i];
	return true;
}

static const struct histogram *poll(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->poll : NULL;
}

static const struct histogram *sched(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->sched : NULL;
}

static const struct histogram *idle(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->idle : NULL;
}

/* A name that leaves its type no room is left out. */
static void draw(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const char *given = task_of(r)->name;
	size_t start = out->len, used;

	if (given) {
		strbuf_addch(out, '"');
		strbuf_add_clean(out, given, strlen(given));
		strbuf_addstr(out, "\" ");
	}
	used = utf8_columns(out->s + start, out->len - start);
	if (used > width / 2) {
		out->len = start;
		used = 0;
	}
	draw_type(t, task_of(r)->key.type, true, width - used, out);
}

static bool is_judged(const struct table *t, const void *r)
{
	return may_not_block(task_of(r)->kind);
}

#define AT(member) .at = offsetof(struct by_task_row, task.member)

static const struct column columns[] = {
	{ .key = "id", .head = "ID", .unit = COLUMN_NUMBER, .number = id },
	{ .key = "name", .text = name },
	{ .head = "RUNTIME", .unit = COLUMN_NUMBER, .rank = 1, .number = copy },
	{ .key = "runtime", .text = runtime },
	{ .key = "runtime_id", .number = runtime_id },
	{ .key = "type", .text = type },
	{ .key = "type_id", .number = type_id },
	{ .key = "kind", .text = kind },
	{ .key = "location", .text = location },
	{ .key = "spawned_at", .text = spawned_at },
	{ .key = "parent", .head = "PARENT", .unit = COLUMN_NUMBER, .rank = 9, .number = parent },
	{ .key = "spawn", .text = spawn },
	{ .key = "spawn_ns", .head = "START", .unit = COLUMN_NS, .rank = 10, AT(spawn_ns) },
	{ .key = "end_ns", .unit = COLUMN_NS, .number = end_ns },
	{ .key = "end", .head = "END", .rank = 1, .text = end },
	{ .key = "life_ns", .head = "LIFE", .unit = COLUMN_NS, .number = life },
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "wakes", .head = "WAKES", .rank = 6, .number = wakes },
	{ .key = "self_wakes",
	  .head = "SELF",
	  .rank = 7,
	  .hides_zero = true,
	  AT(wakes[MODEL_BY_SELF]) },
	COLUMNS_OF_WAKERS,
	COLUMNS_OF_STATES(3, 4, 40),
	COLUMN_BLOCKED(5),
	{ .key = "max_poll_ns",
	  .head = "MAXPOLL",
	  .unit = COLUMN_NS,
	  .warn = SLOW_NS,
	  .bad = VERY_SLOW_NS,
	  AT(max_poll_ns) },
	{ .key = "max_sched_ns",
	  .head = "MAXSCHED",
	  .unit = COLUMN_NS,
	  .rank = 2,
	  .warn = SLOW_NS,
	  .bad = VERY_SLOW_NS,
	  AT(max_sched_ns) },
	{ .key = "max_blocked_ns", .unit = COLUMN_NS, AT(max_blocked_ns) },
	COLUMNS_OF_VALUES("poll", "POLL", poll, 20, 26, 21, 29, 22, true, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("sched", "SCHED", sched, 27, 28, 23, 30, 36, true, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("idle", "IDLE", idle, 31, 32, 33, 34, 37, true, 0, 0),
	{ .head = "TYPE", .draw = draw },
};

/* By which tasks are chosen: as the rows are sorted. */
static uint64_t rank_of(void *arg, const struct by_task_row *row)
{
	const struct report_table *t = arg;
	uint64_t value = 0;

	if (!column_get(&t->table, t->sort, row, &value))
		return 0;
	return t->is_reverse ? ~value : value;
}

static void init(struct report_table *t)
{
	t->state = by_task_new(t->limit, rank_of, t);
	vec_push(&t->sinks, (struct recording_sink){ &by_task_ops, t->state });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_task_row *rows = by_task_get_rows(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &rows[i]);
	t->nr_in_all = by_task_get_nr_seen(t->state);
	if (!nr)
		return;
	by_task_want_detail(t->state, MAX_DETAILED);
	vec_push(&t->second, (struct recording_sink){ &by_task_detail_ops, t->state });
}

static void release(void *state)
{
	by_task_free(state);
}

const struct table_kind table_by_task = {
	.name = "task",
	.summary = "the first tasks by some number",
	.what = "task",
	.empty = "No task was recorded.",
	.sort = "busy",
	.limit = 20,
	.data_limit = MAX_DETAILED,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.chooses_early = true,
	.is_judged = is_judged,
	.init = init,
	.finish = finish,
	.release = release,
};
