// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=future`: the futures that tasks are made of, and what became of them. */
#include "analyze/by_future.h"
#include "base/format.h"
#include "show/report_by.h"
#include "show/report_step.h"

static const struct by_future_row *row_of(const void *r)
{
	return r;
}

static const char *future(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct by_future_row *row = row_of(r);

	return row->step ? row->step->future : row->future->name;
}

static const char *function(const struct table *t, const void *r, struct strbuf *scratch)
{
	return by_future_function(row_of(r));
}

static bool is_generated(const struct table *t, const void *r, uint64_t *value)
{
	*value = by_future_is_generated(row_of(r));
	return true;
}

/* In the order of enum by_future_source. */
static const char *polls_from(const struct table *t, const void *r, struct strbuf *scratch)
{
	static const char *const names[] = { "paths", "some", "exact" };

	return names[row_of(r)->source];
}

/* What paths tell needs no word where nothing else does. */
static const char *polls_from_short(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->source == BY_FUTURE_PATHS ? NULL : polls_from(t, r, scratch);
}

static const char *seen(const struct table *t, const void *r, struct strbuf *scratch)
{
	return row_of(r)->future ? model_seen_name(row_of(r)->seen) : NULL;
}

/* Where most of them were dropped; NULL: nowhere. Those that panicked ran when they ended. */
static const struct by_future_drop *worst_drop(const void *r)
{
	const struct by_future_row *row = row_of(r);

	vec_each (d, &row->drops)
		if (!d->is_panic)
			return d;
	return NULL;
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
	shorten_type(out, by_future_name(row_of(r)), width);
}

static void draw_dropped(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const struct by_future_drop *d = worst_drop(r);

	if (d && d->step)
		step_shorten_place(out, d->step, width);
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
	{ .key = "count", .head = "COUNT", .hides_zero = true, AT(nr) },
	/* what is left of COUNT: without room the first of the four to go */
	COUNT("finished", "FINISHED", nr_finished, 4),
	COUNT("dropped", "DROPPED", nr_dropped, 1),
	COUNT("unsure", "UNSURE", nr_unsure, 1),
	COUNT("unknown", "UNKNOWN", nr_unknown, 1),
	COUNT("again", "AGAIN", nr_again, 3),
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "polls_from", .text = polls_from },
	{ .head = "BY", .rank = 3, .text = polls_from_short },
	{ .key = "poll_ns", .head = "POLLING", .unit = COLUMN_NS, AT(poll_ns) },
	{ .key = "seen", .text = seen },
	{ .key = "exact_polls", AT(exact.polls) },
	{ .key = "exact_ns", .unit = COLUMN_NS, AT(exact.total_ns) },
	{ .key = "exact_self_ns", .unit = COLUMN_NS, AT(exact.self_ns) },
	{ .key = "exact_max_ns", .unit = COLUMN_NS, AT(exact.max_ns) },
	{ .key = "exact_ready", AT(exact.nr_ready) },
	{ .key = "exact_pending", AT(exact.nr_pending) },
	{ .key = "exact_unwound", AT(exact.nr_unwound) },
	COLUMN_TIME(NULL, "SELF", own.self_ns, 3),
	COLUMN_TIME(NULL, "LONGEST", own.max_ns, 8),
	COUNT(NULL, "READY", own.nr_ready, 8),
	COUNT(NULL, "PANIC", own.nr_unwound, 8),
	{ .key = "waits", .head = "WAITS", .rank = 7, .hides_zero = true, AT(waits) },
	{ .key = "wait_ns", .head = "WAITING", .unit = COLUMN_NS, .hides_zero = true, AT(wait_ns) },
	{ .key = "dropped_at", .text = dropped_at },
	{ .key = "dropped_there", .number = nr_dropped_at },
	{ .head = "FUTURE", .draw = draw_future },
	{ .head = "DROPPED AT", .rank = 2, .draw = draw_dropped },
};

struct state {
	struct by_future rows;
	struct inner_polls polls;
};

static void init(struct report_table *t)
{
	struct state *s = t->state = xcalloc(1, sizeof(*s));

	inner_polls_init(&s->polls, t->rec);
	if (t->rec->nr_futures)
		vec_push(&t->sinks, (struct recording_sink){ &inner_polls_ops, &s->polls });
}

static bool is_wanted(const struct report_table *t, const struct by_future_row *row)
{
	if (!row->nr && !row->exact.polls)
		return false;
	return row->step ? step_is_wanted(t, row->step)
			 : future_filter_wants(t->opts->futures, row->future);
}

static void finish(struct report_table *t, struct analyzer *a)
{
	struct state *s = t->state;
	uint64_t lost[EV_MAX];

	explain_no_steps(t, a, t->rec->nr_paths || t->rec->nr_futures);
	recording_get_lost(t->rec, t->model, lost);
	by_future_init(&s->rows, t->rec, analyzer_get_paths(a), &s->polls, lost[EV_FUTURE_START]);
	for (uint32_t i = 0; i < s->rows.nr; i++)
		if (is_wanted(t, &s->rows.v[i]))
			vec_push(&t->table.rows, &s->rows.v[i]);
}

static void release(void *state)
{
	struct state *s = state;

	by_future_release(&s->rows);
	inner_polls_release(&s->polls);
	free(s);
}

static void put_count(struct strbuf *out, const char **sep, uint64_t nr, const char *what)
{
	char a[FORMAT_SIZE];

	if (!nr)
		return;
	strbuf_addf(out, "%s%s %s", *sep, format_grouped(nr, a), what);
	*sep = ", ";
}

static void tell_ends(const struct by_future_row *row, struct strbuf *b)
{
	const char *sep = "  ";

	put_count(b, &sep, row->nr, "seen");
	put_count(b, &sep, row->nr_finished, "finished");
	put_count(b, &sep, row->nr_dropped, "dropped");
	put_count(b, &sep, row->nr_unsure, "finished or dropped");
	put_count(b, &sep, row->nr_unknown, "of unknown end");
	sep = "; perhaps ";
	put_count(b, &sep, row->nr_again, "more, in iterations of a select!");
	if (row->nr)
		strbuf_addch(b, '\n');
}

/* What was recorded of it, one by one. */
static void tell_exact(const struct by_future_row *row, struct strbuf *b)
{
	const char *sep = "; ";
	char a[FORMAT_SIZE], c[FORMAT_SIZE];

	if (!row->exact.polls)
		return;
	strbuf_addf(b, "  %s%s polls of its own, %s", row->source == BY_FUTURE_EXACT ? "" : "some ",
		    format_grouped(row->exact.polls, a), format_span(row->exact.total_ns, c));
	strbuf_addf(b, " (%s by itself, longest %s)", format_span(row->exact.self_ns, a),
		    format_span(row->exact.max_ns, c));
	put_count(b, &sep, row->exact.nr_ready, "ready");
	put_count(b, &sep, row->exact.nr_pending, "pending");
	put_count(b, &sep, row->exact.nr_unwound, "panicked");
	strbuf_addch(b, '\n');
}

static void tell_drops(const struct by_future_row *row, struct strbuf *b)
{
	char a[FORMAT_SIZE];

	for (size_t i = 0; i < row->drops.nr; i++) {
		const struct by_future_drop *d = &row->drops.v[i];

		strbuf_addf(b, "  %s %s ", d->is_panic ? "panicked" : "dropped",
			    format_grouped(d->nr, a));
		if (d->step) {
			strbuf_addstr(b, d->is_panic ? "after its wait at " : "at ");
			draw_step(d->step, SIZE_MAX, b);
		} else if (d->is_panic) {
			strbuf_addstr(b, "in its first poll, or after a wait at no known line");
		} else {
			strbuf_addstr(b, "before its first wait, or at an unknown place");
		}
		strbuf_addch(b, '\n');
	}
}

/* All places where it was dropped. */
static void tell(const struct report_table *t, const void *r, struct out *out)
{
	const struct by_future_row *row = row_of(r);
	struct strbuf *b = &out->buf;
	char a[FORMAT_SIZE], c[FORMAT_SIZE];

	shorten_type(b, by_future_name(row), SIZE_MAX);
	strbuf_addf(b, "%s\n", by_future_is_generated(row) ? "" : "  (written by hand)");
	tell_ends(row, b);
	tell_exact(row, b);
	if (row->source == BY_FUTURE_PATHS)
		strbuf_addf(b, "  part of %s polls of tasks, %s\n", format_grouped(row->polls, a),
			    format_span(row->poll_ns, c));
	if (row->nr)
		strbuf_addf(b, "  %s waits, %s\n", format_grouped(row->waits, a),
			    format_span(row->wait_ns, c));
	tell_drops(row, b);
	strbuf_addch(b, '\n');
	out_spill(out);
}

const struct table_kind table_by_future = {
	.name = "future",
	.summary = "the futures inside of tasks",
	.what = "future",
	.empty = "No future was recorded: this needs debug info (debug = 2), and no --no-await; "
		 "or record --futures.",
	.sort = "wait_ns",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.init = init,
	.finish = finish,
	.release = release,
	.tell = tell,
};
