// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=mark`: the program's own marks and spans, by name. */
#include "analyze/by_mark.h"
#include "model/shorten.h"
#include "show/report_by.h"

#define AT(member) .at = offsetof(struct by_mark_row, member)

static const struct by_mark_row *row_of(const void *r)
{
	return r;
}

static const char *kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->is_span ? "span" : "mark";
}

static const char *name(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->name ? trace_get_string(table_rec(t)->trace, row_of(r)->name) : NULL;
}

/* As long as there is room: names that begin alike are told apart by their ends. */
static void draw_name(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const char *text = name(t, r, NULL);

	shorten_type(out, text && *text ? text : "-", width);
}

static bool open_spans(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->nr_open;
	return row_of(r)->is_span;
}

static bool moved(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->nr_moved;
	return row_of(r)->is_span;
}

static bool sum(const struct table *t, const void *r, uint64_t *value)
{
	*value = row_of(r)->lasted.sum;
	return row_of(r)->is_span;
}

static const struct histogram *lasted(const void *r)
{
	return &row_of(r)->lasted;
}

static const struct column columns[] = {
	{ .key = "kind", .head = "KIND", .text = kind },
	{ .key = "count", .head = "COUNT", AT(nr) },
	{ .key = "in_tasks", .head = "IN TASKS", .rank = 6, AT(nr_in_tasks) },
	{ .key = "open", .head = "OPEN", .rank = 5, .number = open_spans },
	{ .key = "moved", .number = moved },
	{ .key = "lasted_ns", .head = "SUM", .unit = COLUMN_NS, .rank = 3, .number = sum },
	COLUMNS_OF_VALUES("lasted", "LASTED", lasted, 1, 4, 1, 0, 2, false, 0, 0),
	{ .head = "NAME", .draw = draw_name },
	{ .key = "name", .text = name },
};

static void init(struct report_table *t)
{
	t->state = by_mark_new();
	vec_push(&t->sinks, (struct recording_sink){ &by_mark_ops, t->state });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_mark_row *rows = by_mark_get_rows(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &rows[i]);
}

static void release(void *state)
{
	by_mark_free(state);
}

const struct table_kind table_by_mark = {
	.name = "mark",
	.summary = "the program's own marks and spans",
	.what = "name",
	.empty = "The program marked nothing: see the crate futrace, mark! and span!.",
	.sort = "lasted_ns",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.init = init,
	.finish = finish,
	.release = release,
};
