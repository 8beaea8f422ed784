// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=type`: one line for each future type, from the sums that the analyses use too. */
#include <stdio.h>

#include "base/candidates.h"
#include "base/format.h"
#include "show/report_by.h"

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_type(t, ((const struct by_type_row *)r)->group->type, scratch);
}

static bool type_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(((const struct by_type_row *)r)->group->type, table_rec(t)->nr_types,
			 value);
}

static const char *kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_kind_name(((const struct by_type_row *)r)->group->kind);
}

static const char *location(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_location(t, ((const struct by_type_row *)r)->group->type, scratch);
}

static bool size(const struct table *t, const void *r, uint64_t *value)
{
	const struct recording *rec = table_rec(t);
	uint16_t nr = ((const struct by_type_row *)r)->group->type;

	*value = nr < rec->nr_types ? rec->types[nr].size_bytes : 0;
	return *value != 0;
}

static bool wakes(const struct table *t, const void *r, uint64_t *value)
{
	const struct by_type_row *row = r;

	*value = 0;
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		*value += row->wakes[i];
	return true;
}

/* "12c 3x": how those that ended did. */
static const char *ends(const struct table *t, const void *r, struct strbuf *scratch)
{
	static const char letters[MODEL_NR_ENDS] = { [MODEL_COMPLETED] = 'c',
						     [MODEL_CANCELLED] = 'x',
						     [MODEL_PANICKED] = 'p',
						     [MODEL_DROPPED] = 'd' };
	const struct by_type_row *row = r;
	char a[FORMAT_SIZE];

	for (unsigned i = MODEL_COMPLETED; i < MODEL_NR_ENDS; i++)
		if (row->ends[i])
			strbuf_addf(scratch, "%s%s%c", scratch->len ? " " : "",
				    format_count(row->ends[i], a), letters[i]);
	return scratch->len ? scratch->s : NULL;
}

static const struct histogram *poll(const void *r)
{
	return &((const struct by_type_row *)r)->poll;
}

static const struct histogram *sched(const void *r)
{
	return &((const struct by_type_row *)r)->sched;
}

static const struct histogram *idle(const void *r)
{
	return &((const struct by_type_row *)r)->idle;
}

static void draw(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	draw_type(t, ((const struct by_type_row *)r)->group->type, true, width, out);
}

static bool is_judged(const struct table *t, const void *r)
{
	return may_not_block(((const struct by_type_row *)r)->group->kind);
}

#define AT(member) .at = offsetof(struct by_type_row, member)

static const struct column columns[] = {
	{ .key = "type", .text = type },
	{ .key = "type_id", .number = type_id },
	{ .key = "kind", .text = kind },
	{ .key = "location", .text = location },
	{ .key = "tasks", .head = "TASKS", AT(nr_tasks) },
	{ .key = "alive", .head = "ALIVE", .rank = 2, .hides_zero = true, AT(ends[MODEL_ALIVE]) },
	{ .key = "peak", .head = "PEAK", .rank = 30, AT(peak) },
	COLUMN_DATA("first_seen", nr_first_seen),
	COLUMN_DATA("never_polled", nr_never_polled),
	COLUMNS_OF_ENDS,
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "wakes", .head = "WAKES", .rank = 31, .number = wakes },
	{ .key = "self_wakes",
	  .head = "SELF",
	  .rank = 29,
	  .hides_zero = true,
	  AT(wakes[MODEL_BY_SELF]) },
	COLUMNS_OF_WAKERS,
	COLUMNS_OF_STATES(25, 26, 40),
	COLUMN_BLOCKED(3),
	COLUMN_DATA("blocked_polls", nr_blocked_polls),
	COLUMN_DATA("max_blocked_ns", max_blocked_poll_ns),
	COLUMNS_OF_VALUES("poll", "POLL", poll, 5, 20, 0, 0, 4, false, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("sched", "SCHED", sched, 21, 24, 0, 8, 36, false, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("idle", "IDLE", idle, 22, 33, 34, 35, 37, false, 0, 0),
	{ .key = "size_bytes", .head = "SIZE", .unit = COLUMN_BYTES, .rank = 32, .number = size },
	{ .head = "ENDS",
	  .text = ends,
	  .rank = 7,
	  .note = "ENDS: c completed, x cancelled, p panicked, d dropped with its runtime." },
	{ .head = "TYPE", .draw = draw },
};

static void tell_counts(const struct by_type_row *row, struct strbuf *out)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	strbuf_addf(out, "  tasks   %s, at most %s at a time", format_grouped(row->nr_tasks, a),
		    format_grouped(row->peak, b));
	if (row->nr_never_polled)
		strbuf_addf(out, ", %s never polled", format_grouped(row->nr_never_polled, a));
	if (row->nr_first_seen)
		strbuf_addf(out, ", the spawn of %s not seen",
			    format_grouped(row->nr_first_seen, a));
	for (unsigned i = 0; i < MODEL_NR_ENDS; i++)
		if (row->ends[i])
			strbuf_addf(out, ", %s %s", format_grouped(row->ends[i], a),
				    model_end_name(i));
	for (unsigned i = 0, some = 0; i < MODEL_NR_CAUSES; i++)
		if (row->wakes[i])
			strbuf_addf(out, "%s %s by %s", some++ ? "," : "\n  wakes  ",
				    format_grouped(row->wakes[i], a), model_cause_name(i));
	strbuf_addf(out, "\n  life    busy %s,", format_span(row->ns[MODEL_RUNNING], a));
	strbuf_addf(out, " sched %s,", format_span(row->ns[MODEL_SCHEDULED], a));
	strbuf_addf(out, " idle %s,", format_span(row->ns[MODEL_IDLE], a));
	strbuf_addf(out, " unknown %s\n", format_span(row->ns[MODEL_UNKNOWN], a));
	if (row->nr_blocked_polls)
		strbuf_addf(out, "  blocked %s in %s poll%s, at most %s in one\n",
			    format_span(row->blocked_ns, a),
			    format_grouped(row->nr_blocked_polls, b), plural(row->nr_blocked_polls),
			    format_span(row->max_blocked_poll_ns, (char[FORMAT_SIZE]){ 0 }));
}

#define BARS_PER_DECADE 6

static void tell_values(const struct table *t, const char *name, const struct histogram *h,
			struct strbuf *out)
{
	static const unsigned percents[] = { 50, 90, 99, 100 };
	char a[FORMAT_SIZE];

	if (!h->nr)
		return;
	strbuf_addf(out, "  %-5s %9s", name, format_count(h->nr, a));
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
		strbuf_addf(out, " %7s", format_span(histogram_percentile(h, percents[i]), a));
	strbuf_addstr(out, " |");
	table_draw_bars(h, 8 * BARS_PER_DECADE, BARS_PER_DECADE, t->is_ascii, out);
	strbuf_addstr(out, "|\n");
}

static void tell_candidate(void *out, const char *name, size_t len)
{
	struct strbuf *buf = out;

	strbuf_addstr(buf, "  may be  ");
	strbuf_add_clean(buf, name, len);
	strbuf_addch(buf, '\n');
}

static void tell_candidates(const struct recording *rec, uint16_t type, struct strbuf *out)
{
	if (type < rec->nr_types && rec->types[type].nr_candidates > 1)
		candidates_each(rec->types[type].name, tell_candidate, out);
}

static void tell(const struct report_table *t, const void *r, struct out *out)
{
	const struct by_type_row *row = r;
	struct strbuf scratch = STRBUF_INIT, *buf = &out->buf;
	const char *place = say_location(&t->table, row->group->type, &scratch);
	char a[FORMAT_SIZE];
	uint64_t bytes;

	strbuf_addstr(buf, style_on(t->opts->styles, STYLE_NAME));
	draw_type(&t->table, row->group->type, false, SIZE_MAX, buf);
	strbuf_addf(buf, "%s\n", style_off(t->opts->styles));
	if (place) {
		strbuf_addstr(buf, "  ");
		strbuf_add_clean(buf, place, scratch.len);
		strbuf_addch(buf, '\n');
	}
	strbuf_release(&scratch);
	tell_candidates(t->rec, row->group->type, buf);
	if (size(&t->table, row, &bytes))
		strbuf_addf(buf, "  size    %s bytes\n", format_grouped(bytes, a));
	else
		strbuf_addstr(buf, "  size    unknown\n");
	tell_counts(row, buf);
	strbuf_addf(buf, "%17s %7s %7s %7s %7s  %s\n", "NUMBER", "P50", "P90", "P99", "MAX",
		    "100ns 1us   10us  100us 1ms   10ms  100ms 1s");
	tell_values(&t->table, "poll", &row->poll, buf);
	tell_values(&t->table, "sched", &row->sched, buf);
	tell_values(&t->table, "idle", &row->idle, buf);
	strbuf_addch(buf, '\n');
	out_spill(out);
}

static void finish(struct report_table *t, struct analyzer *a)
{
	const struct by_type_row *rows = by_type_get_rows(analyzer_get_types(a));

	for (uint32_t g = 0; g < t->rec->nr_groups; g++)
		if (rows[g].nr_tasks)
			vec_push(&t->table.rows, &rows[g]);
}

const struct table_kind table_by_type = {
	.name = "type",
	.summary = "each type of future",
	.what = "type",
	.sort = "busy",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.is_judged = is_judged,
	.finish = finish,
	.tell = tell,
};
