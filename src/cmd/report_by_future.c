// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=future`: the futures that tasks are made of, and what became of them. */
#include "analyze/by_future.h"
#include "base/format.h"
#include "cmd/report_by.h"
#include "cmd/report_step.h"

static const struct by_future_row *row_of(const void *r)
{
	return r;
}

static const char *future(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->step->future;
}

static const char *function(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->step->function;
}

static bool is_generated(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->step->is_generated;
	return true;
}

/* Where most of them were dropped; NULL: nowhere, or it is not known. */
static const struct by_future_drop *worst_drop(const void *r)
{
	const struct by_future_row *row = row_of(r);

	return row->drops.nr ? &row->drops.v[0] : NULL;
}

static const char *dropped_at(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct by_future_drop *d = worst_drop(r);

	return d && d->step ? say_step_place(d->step, scratch) : NULL;
}

static bool nr_dropped_at(const struct table *t, const void *r, uint64_t *value)
{
	const struct by_future_drop *d = worst_drop(r);

	*value = d && d->step ? d->nr : 0;
	return true;
}

static void draw_future(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	draw_future_type(step_name(row_of(r)->step), width, out);
}

static void draw_dropped(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const struct by_future_drop *d = worst_drop(r);

	if (d && d->step)
		shorten_place(out, d->step->file, d->step->line, width);
}

#define AT(member) .at = offsetof(struct by_future_row, member)
#define COUNT(KEY, HEAD, member, RANK)                                                 \
	{                                                                              \
		.key = KEY, .head = HEAD, .rank = RANK, .hides_zero = true, AT(member) \
	}

static const struct column columns[] = {
	{ .key = "future", .text = future },
	{ .key = "function", .text = function },
	{ .key = "generated", .number = is_generated },
	{ .key = "count", .head = "COUNT", AT(nr) },
	COUNT("finished", "FINISHED", nr_finished, 4),
	COUNT("dropped", "DROPPED", nr_dropped, 1),
	COUNT("unsure", "UNSURE", nr_unsure, 5),
	COUNT("unknown", "UNKNOWN", nr_unknown, 6),
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "poll_ns", .head = "POLLING", .unit = COLUMN_NS, AT(poll_ns) },
	{ .key = "waits", .head = "WAITS", .rank = 7, .hides_zero = true, AT(waits) },
	{ .key = "wait_ns", .head = "WAITING", .unit = COLUMN_NS, .hides_zero = true, AT(wait_ns) },
	{ .key = "dropped_at", .text = dropped_at },
	{ .key = "dropped_there", .number = nr_dropped_at },
	{ .head = "FUTURE", .draw = draw_future },
	{ .head = "DROPPED AT", .rank = 2, .draw = draw_dropped },
};

static void init(struct report_table *t)
{
	t->state = xcalloc(1, sizeof(struct by_future));
}

static void finish(struct report_table *t, struct analyzer *a)
{
	struct by_future *rows = t->state;

	if (!analyzer_get_paths(a))
		return;
	by_future_init(rows, t->rec, analyzer_get_paths(a));
	for (uint32_t i = 0; i < rows->nr; i++)
		if (rows->v[i].nr && step_is_wanted(t, rows->v[i].step))
			vec_push(&t->table.rows, &rows->v[i]);
}

static void release(void *state)
{
	by_future_release(state);
	free(state);
}

static void put_count(struct strbuf *out, const char **sep, uint64_t nr, const char *what)
{
	char a[FORMAT_SIZE];

	if (!nr)
		return;
	strbuf_addf(out, "%s%s %s", *sep, format_grouped(nr, a), what);
	*sep = ", ";
}

/* All places where it was dropped. */
static void tell(const struct report_table *t, const void *r, struct out *out)
{
	const struct by_future_row *row = row_of(r);
	struct strbuf *b = &out->buf;
	const char *sep = "  ";
	char a[FORMAT_SIZE], c[FORMAT_SIZE];

	shorten_type(b, step_name(row->step), SIZE_MAX);
	strbuf_addf(b, "%s\n", row->step->is_generated ? "" : "  (written by hand)");
	put_count(b, &sep, row->nr, "seen");
	put_count(b, &sep, row->nr_finished, "finished");
	put_count(b, &sep, row->nr_dropped, "dropped");
	put_count(b, &sep, row->nr_unsure, "finished or dropped");
	put_count(b, &sep, row->nr_unknown, "of unknown end");
	strbuf_addf(b, "\n  %s polls, %s; ", format_grouped(row->polls, a),
		    format_span(row->poll_ns, c));
	strbuf_addf(b, "%s waits, %s\n", format_grouped(row->waits, a),
		    format_span(row->wait_ns, c));
	for (size_t i = 0; i < row->drops.nr; i++) {
		const struct trace_step *at = row->drops.v[i].step;

		strbuf_addf(b, "  dropped %s ", format_grouped(row->drops.v[i].nr, a));
		if (at) {
			strbuf_addstr(b, "at ");
			draw_step(at, SIZE_MAX, b);
		} else {
			strbuf_addstr(b, "before its first wait, or where nobody saw it");
		}
		strbuf_addch(b, '\n');
	}
	strbuf_addch(b, '\n');
	out_spill(out);
}

const struct table_kind table_by_future = {
	.name = "future",
	.summary = "the futures inside of tasks",
	.what = "future",
	.empty = "No future was recorded: that takes debug info (debug = 2), and no --no-await.",
	.sort = "wait_ns",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.init = init,
	.finish = finish,
	.release = release,
	.tell = tell,
};
