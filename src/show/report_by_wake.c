// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=wake`: who makes whom runnable, how often, and how long it is until the poll. */
#include <string.h>

#include "analyze/by_wake.h"
#include "show/report_by.h"

static const struct by_wake_row *row_of(const void *r)
{
	return r;
}

static uint16_t woken_type(const struct table *t, const void *r)
{
	return table_rec(t)->groups[row_of(r)->woken].type;
}

static bool is_by_task(const void *r)
{
	return row_of(r)->cause == MODEL_BY_TASK;
}

static uint16_t waker_type(const struct table *t, const void *r)
{
	return is_by_task(r) ? table_rec(t)->groups[row_of(r)->waker].type : EVENT_TYPE_NONE;
}

static const char *how(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->is_spawn ? "spawn" : "wake";
}

static const char *cause(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_cause_name(row_of(r)->cause);
}

static const char *by_type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return is_by_task(r) ? say_type(t, waker_type(t, r), scratch) : NULL;
}

static bool by_type_id(const struct table *t, const void *r, uint64_t *value)
{
	return is_by_task(r) && say_index(waker_type(t, r), table_rec(t)->nr_types, value);
}

/* Threads of one name are one waker. */
static const char *by_thread(const struct table *t, const void *r, struct strbuf *scratch)
{
	if (row_of(r)->cause != MODEL_BY_THREAD)
		return NULL;
	return recording_thread_name(table_rec(t), row_of(r)->waker);
}

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_type(t, woken_type(t, r), scratch);
}

static bool type_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(woken_type(t, r), table_rec(t)->nr_types, value);
}

static bool nr_polls(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->latency.nr;
	return true;
}

static bool sum(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->latency.sum;
	return true;
}

static const struct histogram *latency(const void *r)
{
	return &row_of(r)->latency;
}

static void draw_waker(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	static const char *const causes[] = { [MODEL_BY_WORKER] = "worker (driver, timer)",
					      [MODEL_BY_SELF] = "itself",
					      [MODEL_BY_ABORT] = "abort" };
	const char *prefix = row_of(r)->is_spawn ? "spawn by " : "";
	size_t used = strlen(prefix);

	strbuf_addstr(out, prefix);
	if (is_by_task(r)) {
		draw_type(t, waker_type(t, r), false, width > used ? width - used : 0, out);
	} else if (row_of(r)->cause == MODEL_BY_THREAD) {
		const char *name = recording_thread_name(table_rec(t), row_of(r)->waker);

		strbuf_addstr(out, name[0] ? "thread " : "thread without a name");
		strbuf_add_clean(out, name, strlen(name));
	} else {
		strbuf_addstr(out, causes[row_of(r)->cause]);
	}
}

static void draw_woken(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	draw_type(t, woken_type(t, r), false, width, out);
}

static const struct column columns[] = {
	{ .key = "how", .text = how },
	{ .key = "cause", .text = cause },
	{ .key = "waker_type", .text = by_type },
	{ .key = "waker_type_id", .number = by_type_id },
	{ .key = "waker_thread", .text = by_thread },
	{ .key = "type", .text = type },
	{ .key = "type_id", .number = type_id },
	{ .key = "count", .head = "COUNT", .at = offsetof(struct by_wake_row, nr) },
	{ .key = "polls", .head = "POLLS", .rank = 6, .number = nr_polls },
	{ .key = "latency_ns", .head = "SUM", .unit = COLUMN_NS, .rank = 5, .number = sum },
	COLUMNS_OF_VALUES("latency", "UNTIL THE POLL", latency, 1, 4, 0, 0, 2, false, SLOW_NS,
			  VERY_SLOW_NS),
	{ .head = "WAKER", .draw = draw_waker },
	{ .head = "WOKEN", .draw = draw_woken },
};

static bool is_judged(const struct table *t, const void *r)
{
	return may_not_block(table_rec(t)->groups[row_of(r)->woken].kind);
}

static void init(struct report_table *t)
{
	t->state = by_wake_new(t->rec);
	vec_push(&t->sinks, (struct recording_sink){ &by_wake_ops, t->state });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_wake_row *rows = by_wake_get_rows(t->state, &nr);

	/* what turned out to be a helper only later was told of until then, woken or spawning */
	for (size_t i = 0; i < nr; i++)
		if (rows[i].nr &&
		    !model_type_is_helper(t->model, t->rec->groups[rows[i].woken].type))
			vec_push(&t->table.rows, &rows[i]);
}

static void release(void *state)
{
	by_wake_free(state);
}

const struct table_kind table_by_wake = {
	.name = "wake",
	.summary = "who wakes whom",
	.what = "pair",
	.empty = "No task was spawned or woken.",
	.sort = "count",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.is_judged = is_judged,
	.init = init,
	.finish = finish,
	.release = release,
};
