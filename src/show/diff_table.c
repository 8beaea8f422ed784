// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/diff_table.h"

#include <math.h>
#include <string.h>

#include "base/format.h"
#include "model/shorten.h"
#include "show/wrap.h"

static const struct compare_row *row_of(const void *r)
{
	return r;
}

static const char *verdict(const struct table *t, const void *r, struct strbuf *scratch)
{
	return compare_verdict_name(row_of(r)->verdict);
}

static const char *verdict_of(const void *r, enum compare_metric m)
{
	const struct compare_row *row = row_of(r);

	return row->sides[0].row && row->sides[1].row ? compare_verdict_name(row->verdicts[m])
						      : NULL;
}

static const char *poll_verdict(const struct table *t, const void *r, struct strbuf *scratch)
{
	return verdict_of(r, COMPARE_POLL);
}

static const char *sched_verdict(const struct table *t, const void *r, struct strbuf *scratch)
{
	return verdict_of(r, COMPARE_SCHED);
}

static const char *busy_verdict(const struct table *t, const void *r, struct strbuf *scratch)
{
	return verdict_of(r, COMPARE_BUSY);
}

static const char *left_verdict(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct compare_row *row = row_of(r);

	return row->sides[0].row && row->sides[1].row ? compare_verdict_name(row->left_verdict)
						      : NULL;
}

static const char *type(const struct table *t, const void *r, struct strbuf *scratch)
{
	const struct compare_row *row = row_of(r);

	if (row->name)
		return row->name;
	if (row->type == EVENT_TYPE_NONE)
		return "type#unknown";
	strbuf_addf(scratch, "type#%u", row->type);
	return scratch->s;
}

static const char *kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_kind_name(row_of(r)->kind);
}

static bool tasks_of(const void *r, int side, uint64_t *value)
{
	const struct by_type_row *row = row_of(r)->sides[side].row;

	*value = row ? row->nr_tasks : 0;
	return true;
}

static bool polls_of(const void *r, int side, uint64_t *value)
{
	const struct by_type_row *row = row_of(r)->sides[side].row;

	*value = row ? row->polls : 0;
	return true;
}

static bool rate_of(const struct table *t, const void *r, int side, uint64_t *value)
{
	const struct by_type_row *row = row_of(r)->sides[side].row;
	const struct diff_table *d = t->arg;

	*value = row && d->durations_ns[side] ? llround(row->polls * 1e9 / d->durations_ns[side])
					      : 0;
	return true;
}

static bool left_of(const void *r, int side, uint64_t *value)
{
	*value = row_of(r)->sides[side].nr_left;
	return true;
}

static bool mean_of(const void *r, int side, enum compare_metric m, uint64_t *value)
{
	const struct estimate *est = &row_of(r)->sides[side].metrics[m];

	*value = llround(est->mean_ns);
	return est->nr > 0;
}

static bool p99_of(const void *r, int side, enum compare_metric m, uint64_t *value)
{
	const struct by_type_row *row = row_of(r)->sides[side].row;

	if (!row || !row->poll.nr)
		return false;
	*value = histogram_percentile(m == COMPARE_POLL ? &row->poll : &row->sched, 99);
	return true;
}

static bool noise_of(const void *r, enum compare_metric m, uint64_t *value)
{
	const struct compare_row *row = row_of(r);

	if (!row->sides[0].row || !row->sides[1].row || row->noise_ns[m] < 0)
		return false;
	*value = llround(row->noise_ns[m]);
	return true;
}

/* What each column asks for, bound to a side and a metric. */
#define ON_SIDE(NAME, CALL)                                                     \
	static bool NAME(const struct table *t, const void *r, uint64_t *value) \
	{                                                                       \
		return CALL;                                                    \
	}

ON_SIDE(tasks_a, tasks_of(r, 0, value))
ON_SIDE(tasks_b, tasks_of(r, 1, value))
ON_SIDE(polls_a, polls_of(r, 0, value))
ON_SIDE(polls_b, polls_of(r, 1, value))
ON_SIDE(rate_a, rate_of(t, r, 0, value))
ON_SIDE(rate_b, rate_of(t, r, 1, value))
ON_SIDE(left_a, left_of(r, 0, value))
ON_SIDE(left_b, left_of(r, 1, value))
ON_SIDE(busy_a, mean_of(r, 0, COMPARE_BUSY, value))
ON_SIDE(busy_b, mean_of(r, 1, COMPARE_BUSY, value))
ON_SIDE(busy_noise, noise_of(r, COMPARE_BUSY, value))
ON_SIDE(poll_a, mean_of(r, 0, COMPARE_POLL, value))
ON_SIDE(poll_b, mean_of(r, 1, COMPARE_POLL, value))
ON_SIDE(poll_p99_a, p99_of(r, 0, COMPARE_POLL, value))
ON_SIDE(poll_p99_b, p99_of(r, 1, COMPARE_POLL, value))
ON_SIDE(poll_noise, noise_of(r, COMPARE_POLL, value))
ON_SIDE(sched_a, mean_of(r, 0, COMPARE_SCHED, value))
ON_SIDE(sched_b, mean_of(r, 1, COMPARE_SCHED, value))
ON_SIDE(sched_p99_a, p99_of(r, 0, COMPARE_SCHED, value))
ON_SIDE(sched_p99_b, p99_of(r, 1, COMPARE_SCHED, value))
ON_SIDE(sched_noise, noise_of(r, COMPARE_SCHED, value))

/* "+250% +-12", "x1500 +-120" where percents are no help, "~" when it is noise, "?" when the polls
 * are others. */
static const char *change_of(const void *r, enum compare_metric m, struct strbuf *scratch)
{
	const struct compare_row *row = row_of(r);
	double before = row->sides[0].metrics[m].mean_ns;

	if (!row->sides[0].row || !row->sides[1].row || before <= 0)
		return NULL;
	if (row->noise_ns[m] < 0)
		return "few";
	strbuf_addstr(scratch, row->verdicts[m] == COMPARE_SAME	    ? "~"
			       : row->verdicts[m] == COMPARE_UNSURE ? "?"
								    : "");
	if (row->change_ns[m] < 10 * before)
		strbuf_addf(scratch, "%+.0f%% +-%.0f", row->change_ns[m] * 100 / before,
			    ceil(row->noise_ns[m] * 100 / before));
	else
		strbuf_addf(scratch, "x%.0f +-%.0f", 1 + row->change_ns[m] / before,
			    ceil(row->noise_ns[m] / before));
	return scratch->s;
}

static const char *poll_change(const struct table *t, const void *r, struct strbuf *scratch)
{
	return change_of(r, COMPARE_POLL, scratch);
}

static const char *sched_change(const struct table *t, const void *r, struct strbuf *scratch)
{
	return change_of(r, COMPARE_SCHED, scratch);
}

static const char *busy_change(const struct table *t, const void *r, struct strbuf *scratch)
{
	return change_of(r, COMPARE_BUSY, scratch);
}

static void draw_type(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const struct compare_row *row = row_of(r);
	const char *suffix = row->kind == TRACE_LOCAL	   ? " (local)"
			     : row->kind == TRACE_BLOCKING ? " (blocking)"
			     : row->kind == TRACE_BLOCK_ON ? " (root)"
							   : "";
	struct strbuf scratch = STRBUF_INIT;
	size_t used = strlen(suffix);

	shorten_type(out, type(t, r, &scratch), width > used ? width - used : 0);
	strbuf_addstr(out, suffix);
	strbuf_release(&scratch);
}

static const struct column columns[] = {
	{ .key = "verdict", .head = "", .text = verdict },
	{ .key = "type", .text = type },
	{ .key = "kind", .text = kind },
	{ .key = "tasks_a", .head = "A", .group = "TASKS", .number = tasks_a, .rank = 5 },
	{ .key = "tasks_b", .head = "B", .group = "TASKS", .number = tasks_b, .rank = 5 },
	{ .key = "left_a",
	  .head = "A",
	  .group = "LEFT",
	  .number = left_a,
	  .rank = 1,
	  .hides_zero = true },
	{ .key = "left_b",
	  .head = "B",
	  .group = "LEFT",
	  .number = left_b,
	  .rank = 1,
	  .hides_zero = true,
	  .note = "LEFT: tasks that were alive at the end, or were dropped with their runtime." },
	{ .key = "left_verdict", .text = left_verdict },
	{ .key = "polls_a", .head = "A", .group = "POLLS", .number = polls_a, .rank = 4 },
	{ .key = "polls_b", .head = "B", .group = "POLLS", .number = polls_b, .rank = 4 },
	{ .key = "polls_per_s_a", .number = rate_a },
	{ .key = "polls_per_s_b", .number = rate_b },
	{ .key = "busy_per_s_a_ns",
	  .head = "A",
	  .group = "BUSY A SECOND",
	  .unit = COLUMN_NS,
	  .number = busy_a },
	{ .key = "busy_per_s_b_ns",
	  .head = "B",
	  .group = "BUSY A SECOND",
	  .unit = COLUMN_NS,
	  .number = busy_b },
	{ .head = "CHANGE", .group = "BUSY A SECOND", .text = busy_change, .rank = 3 },
	{ .key = "busy_per_s_noise_ns", .unit = COLUMN_NS, .number = busy_noise },
	{ .key = "busy_verdict", .text = busy_verdict },
	{ .key = "poll_a_ns",
	  .head = "A",
	  .group = "POLL, MEAN",
	  .unit = COLUMN_NS,
	  .number = poll_a },
	{ .key = "poll_b_ns",
	  .head = "B",
	  .group = "POLL, MEAN",
	  .unit = COLUMN_NS,
	  .number = poll_b },
	{ .head = "CHANGE", .group = "POLL, MEAN", .text = poll_change },
	{ .key = "poll_noise_ns", .unit = COLUMN_NS, .number = poll_noise },
	{ .key = "poll_verdict", .text = poll_verdict },
	{ .key = "poll_p99_a_ns",
	  .head = "A",
	  .group = "P99",
	  .unit = COLUMN_NS,
	  .number = poll_p99_a,
	  .rank = 6 },
	{ .key = "poll_p99_b_ns",
	  .head = "B",
	  .group = "P99",
	  .unit = COLUMN_NS,
	  .number = poll_p99_b,
	  .rank = 6 },
	{ .key = "sched_a_ns",
	  .head = "A",
	  .group = "WAIT FOR A WORKER",
	  .unit = COLUMN_NS,
	  .number = sched_a },
	{ .key = "sched_b_ns",
	  .head = "B",
	  .group = "WAIT FOR A WORKER",
	  .unit = COLUMN_NS,
	  .number = sched_b },
	{ .head = "CHANGE", .group = "WAIT FOR A WORKER", .text = sched_change, .rank = 2 },
	{ .key = "sched_noise_ns", .unit = COLUMN_NS, .number = sched_noise },
	{ .key = "sched_verdict", .text = sched_verdict },
	{ .key = "sched_p99_a_ns", .unit = COLUMN_NS, .number = sched_p99_a },
	{ .key = "sched_p99_b_ns", .unit = COLUMN_NS, .number = sched_p99_b },
	{ .head = "TYPE", .draw = draw_type },
};

static bool is_change(const struct compare_row *r)
{
	return r->verdict != COMPARE_SAME && r->verdict != COMPARE_UNSURE;
}

static void make(struct table *t, const struct diff_table *d, bool is_all)
{
	*t = (struct table){ .columns = columns,
			     .nr_columns = ARRAY_SIZE(columns),
			     .arg = d,
			     .styles = &d->styles,
			     .is_ascii = d->styles.is_ascii,
			     .what = "type" };
	for (size_t i = 0; i < d->result.nr_rows; i++)
		if (is_all || is_change(&d->result.rows[i]))
			vec_push(&t->rows, &d->result.rows[i]);
}

/* "2 slower, 1 appeared; 9 are the same within the noise (--all)" */
static void say_counts(const struct diff_table *d, bool is_all, struct strbuf *lines)
{
	struct strbuf text = STRBUF_INIT, *out = &text;
	static const enum compare_verdict order[] = { COMPARE_SLOWER,	COMPARE_LEAKIER,
						      COMPARE_BUSIER,	COMPARE_FASTER,
						      COMPARE_TIDIER,	COMPARE_CALMER,
						      COMPARE_APPEARED, COMPARE_VANISHED };
	size_t counts[COMPARE_VANISHED + 1] = { 0 };
	const char *sep = "";

	for (size_t i = 0; i < d->result.nr_rows; i++)
		counts[d->result.rows[i].verdict]++;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!counts[order[i]])
			continue;
		strbuf_addf(out, "%s%zu %s", sep, counts[order[i]], compare_verdict_name(order[i]));
		sep = ", ";
	}
	if (!*sep)
		strbuf_addstr(out, "no type changed beyond the noise");
	if (counts[COMPARE_SAME] + counts[COMPARE_UNSURE])
		strbuf_addf(out, "; %zu the same within the noise, %zu cannot be compared%s",
			    counts[COMPARE_SAME], counts[COMPARE_UNSURE],
			    is_all ? "" : " (--all shows them)");
	strbuf_addch(lines, '\n');
	wrap_text(lines, text.s, 0, d->styles.width);
	strbuf_addch(lines, '\n');
	strbuf_release(&text);
}

/* What all types have in common is not any one's change. */
static void say_typical(const struct diff_table *d, struct strbuf *out)
{
	const double *typical = d->result.typical;

	if (typical[COMPARE_POLL] <= 1 && typical[COMPARE_SCHED] <= 1 && typical[COMPARE_BUSY] <= 1)
		return;
	strbuf_addf(out,
		    "The runs differ: the typical type by a factor of %.2f (poll), %.2f (wait) and "
		    "%.2f (busy).\nFactors up to %.2f, %.2f and %.2f are not taken for a change.\n",
		    typical[COMPARE_POLL], typical[COMPARE_SCHED], typical[COMPARE_BUSY],
		    comparison_get_allowed(&d->result, COMPARE_POLL),
		    comparison_get_allowed(&d->result, COMPARE_SCHED),
		    comparison_get_allowed(&d->result, COMPARE_BUSY));
}

void diff_table_text(const struct diff_table *d, bool is_all, struct out *out)
{
	struct table t;

	make(&t, d, is_all);
	say_counts(d, is_all, &out->buf);
	if (t.rows.nr) {
		table_text(&t, d->styles.width, out);
		strbuf_addstr(&out->buf, "\nCHANGE of the mean, +- the noise inside of the "
					 "recordings; ~ no change beyond noise;\n"
					 "? polled so much more or less often that means do not "
					 "compare.\n");
		say_typical(d, &out->buf);
	}
	vec_release(&t.rows);
}

void diff_table_csv(const struct diff_table *d, struct out *out)
{
	struct table t;

	make(&t, d, true);
	table_csv(&t, out);
	vec_release(&t.rows);
}

void diff_table_json(const struct diff_table *d, struct json *j)
{
	struct table t;

	json_double(j, "typical_poll_factor", d->result.typical[COMPARE_POLL]);
	json_double(j, "typical_sched_factor", d->result.typical[COMPARE_SCHED]);
	json_double(j, "typical_busy_factor", d->result.typical[COMPARE_BUSY]);
	make(&t, d, true);
	table_json(&t, j);
	vec_release(&t.rows);
}
