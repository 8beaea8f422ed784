// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=await`: where tasks wait, how long, and what ends it. */
#include "analyze/by_await.h"
#include "show/report_by.h"
#include "show/report_step.h"

#define FOR_WIDTH 20

static const struct by_await_row *row_of(const void *r)
{
	return r;
}

static const char *location(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->step ? say_step_place(row_of(r)->step, scratch) : NULL;
}

static const char *function(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->step ? row_of(r)->step->function : NULL;
}

static const char *future(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->step ? row_of(r)->step->future : NULL;
}

/* "mutex", where the kind of thing is known; else the type of the future that it waits for. */
static const char *waits_for(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct trace_step *leaf = row_of(r)->leaf;

	if (!leaf)
		return NULL;
	return leaf->leaf[0] ? leaf->leaf : leaf->future;
}

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct by_await_row *row = row_of(r);

	if (!row->step || !row->nr || !row->is_of_group)
		return NULL;
	return say_type(t, table_rec(t)->groups[row->group].type, scratch);
}

static const struct histogram *wait(const void *r)
{
	return &row_of(r)->wait;
}

static const char *waits_for_short(const struct table *t, const void *r, struct strbuf *scratch)
{
	const char *what = waits_for(t, r, scratch);

	if (!what)
		return NULL;
	shorten_type(scratch, what, FOR_WIDTH);
	return scratch->s;
}

static void draw_await(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	if (row_of(r)->step)
		draw_step(row_of(r)->step, width, out);
	else
		strbuf_addstr(out, by_await_rest_name(row_of(r)));
}

#define AT(member) .at = offsetof(struct by_await_row, member)
#define ENDED(KEY, HEAD, member, RANK)                                                           \
	{                                                                                        \
		.key = KEY, .head = HEAD, .group = "ENDED BY", .rank = RANK, .hides_zero = true, \
		AT(member)                                                                       \
	}

static const struct column columns[] = {
	{ .key = "location", .text = location },
	{ .key = "function", .text = function },
	{ .key = "future", .text = future },
	{ .key = "for", .text = waits_for },
	{ .key = "type", .text = type },
	{ .key = "tasks", .head = "TASKS", .rank = 6, .hides_zero = true, AT(nr_tasks) },
	{ .key = "waits", .head = "WAITS", .hides_zero = true, AT(nr) },
	{ .key = "wait_ns", .head = "SUM", .unit = COLUMN_NS, .hides_zero = true, AT(wait_ns) },
	{ .key = "idle_ns", .unit = COLUMN_NS, AT(idle_ns) },
	{ .key = "sched_ns",
	  .head = "SCHED",
	  .unit = COLUMN_NS,
	  .rank = 10,
	  .hides_zero = true,
	  AT(sched_ns) },
	{ .key = "all_waits", AT(nr_all) },
	{ .key = "all_ns", .head = "ALL", .unit = COLUMN_NS, .rank = 3, AT(all_ns) },
	COLUMNS_OF_VALUES("wait", "A WAIT", wait, 1, 9, 2, 1, 3, false, 0, 0),
	ENDED("by_worker", "WORKER", wakes[MODEL_BY_WORKER], 8),
	ENDED("by_task", "TASK", wakes[MODEL_BY_TASK], 4),
	ENDED("by_thread", "THREAD", wakes[MODEL_BY_THREAD], 8),
	ENDED("by_self", "SELF", wakes[MODEL_BY_SELF], 8),
	ENDED("dropped", "DROP", nr_dropped, 2),
	ENDED("open", "OPEN", nr_open, 2),
	{ .head = "FOR", .text = waits_for_short },
	{ .head = "AWAIT", .draw = draw_await },
};

struct state {
	struct by_await rows;
};

static void init(struct report_table *t)
{
	t->state = xcalloc(1, sizeof(struct state));
}

static const char *hint(const struct report_table *t)
{
	if (trace_get_end(t->rec->trace)->kind == TRACE_STOPPED)
		return "'futrace tree PID' shows where tasks wait that were still waiting at "
		       "the end, while they do.";
	return "'record --duration' and 'futrace tree PID' show where tasks wait that still "
	       "wait at the end.";
}

static void finish(struct report_table *t, struct analyzer *a)
{
	struct by_await *rows = &((struct state *)t->state)->rows;

	explain_no_steps(t, a, t->rec->nr_paths);
	if (!analyzer_get_paths(a))
		return;
	by_await_init(rows, t->rec, analyzer_get_paths(a));
	for (uint32_t i = 0; i < rows->nr; i++) {
		if (rows->v[i].nr_all && (!rows->v[i].step || step_is_wanted(t, rows->v[i].step)))
			vec_push(&t->table.rows, &rows->v[i]);
		/* the poll that ends a wait tells where it was; while it hangs, only memory does */
		if (rows->v[i].nr_open && !rows->v[i].step)
			t->note = hint(t);
	}
}

static void release(void *state)
{
	by_await_release(&((struct state *)state)->rows);
	free(state);
}

const struct table_kind table_by_await = {
	.name = "await",
	.summary = "where tasks wait",
	.what = "await point",
	.empty = "No await point was recorded: they need futures with a known place, debug = 2, "
		 "no --no-await.",
	.sort = "wait_ns",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.init = init,
	.finish = finish,
	.release = release,
};
