// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Types most of whose tasks are cancelled, again and again: what they had done was for nothing.
 * Tasks that went with their runtime do not count, nor do those that were all aborted at one moment
 * (somebody cleans up). Helpers that run until their owner aborts them never end in another way: if
 * some tasks do, or if the work was costly, it is no such design.
 */
#include "analyze/analyses.h"
#include "analyze/worker_time.h"
#include "base/format.h"

enum { LIMIT_NR, LIMIT_SHARE, LIMIT_SPAN };

static const struct threshold thresholds[] = {
	[LIMIT_NR] = { "cancel-storm", THRESHOLD_COUNT, 100,
		       "number of cancelled tasks of a "
		       "type" },
	[LIMIT_SHARE] = { "cancel-storm-share", THRESHOLD_PERCENT, 50,
			  "… as a share of the tasks that ended" },
	[LIMIT_SPAN] = { "cancel-storm-span", THRESHOLD_NS, 100000000,
			 "… over at least this time" },
	{ 0 },
};

#define MIN_COMPLETED_PERCENT 5

struct cancelled {
	uint64_t nr, nr_unpolled;
	uint64_t busy_ns, max_busy_ns;
	uint64_t first_ns, last_ns; /* when */
	struct model_key task;	    /* the one that had worked the longest */
};

static void on_task(void *sink, const struct model_task *t)
{
	const struct analysis_input *in = sink;
	struct cancelled *by_group = in->by_group, *c;

	if (t->end != MODEL_CANCELLED)
		return;
	c = &by_group[recording_group_of(in->rec, t->key.type)];
	c->first_ns = c->nr ? MIN(c->first_ns, t->end_ns) : t->end_ns;
	c->last_ns = MAX(c->last_ns, t->end_ns);
	if (!c->nr++ || t->ns[MODEL_RUNNING] > c->max_busy_ns) {
		c->max_busy_ns = t->ns[MODEL_RUNNING];
		c->task = t->key;
	}
	c->nr_unpolled += !t->polls;
	c->busy_ns += t->ns[MODEL_RUNNING];
}

static const struct model_ops ops = { .task = on_task };

static uint64_t nr_ended(const struct by_type_row *row)
{
	return row->ends[MODEL_COMPLETED] + row->ends[MODEL_CANCELLED] + row->ends[MODEL_PANICKED];
}

static bool is_storm(const struct cancelled *c, const struct by_type_row *row,
		     const struct analysis_input *in)
{
	const uint64_t *limits = in->limits;

	return c->nr && c->nr >= limits[LIMIT_NR] &&
	       c->nr * 100 >= nr_ended(row) * limits[LIMIT_SHARE] &&
	       c->last_ns - c->first_ns >= limits[LIMIT_SPAN] &&
	       (row->ends[MODEL_COMPLETED] * 100 >= nr_ended(row) * MIN_COMPLETED_PERCENT ||
		is_costly(c->busy_ns, in));
}

static void say(const struct cancelled *c, const struct by_type_row *row,
		const struct analysis_input *in)
{
	uint64_t share = c->nr * 100 / nr_ended(row);
	struct finding *f = finding_add(
		in, is_costly(c->busy_ns, in) ? SEVERITY_WARNING : SEVERITY_NOTE, row->group->type);
	char nr[FORMAT_SIZE], ended[FORMAT_SIZE], busy[FORMAT_SIZE];

	f->harm_ns = c->busy_ns;
	f->has_task = true;
	f->task = c->task;
	f->time_ns = c->first_ns;
	f->span_ns = c->last_ns - c->first_ns;
	finding_figure(f, "cancelled", FIGURE_COUNT, c->nr);
	finding_figure(f, "ended", FIGURE_COUNT, nr_ended(row));
	finding_figure(f, "share_percent", FIGURE_PERCENT, share);
	finding_figure(f, "never_polled", FIGURE_COUNT, c->nr_unpolled);
	finding_figure(f, "wasted_ns", FIGURE_NS, c->busy_ns);
	finding_say(f, "%s of %s tasks that ended were cancelled, after %s of work",
		    format_grouped(c->nr, nr), format_grouped(nr_ended(row), ended),
		    format_span(c->busy_ns, busy));
	if (c->nr_unpolled * 2 > c->nr)
		finding_advise(f, "spawn them only when they are needed: most never ran");
	else
		finding_advise(f, "find the code that aborts them: a timeout may be too short, "
				  "or work started too early or retried too often");
}

static void finish(void *state, const struct analysis_input *in)
{
	const struct cancelled *by_group = in->by_group;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (is_storm(&by_group[g], &in->rows[g], in))
			say(&by_group[g], &in->rows[g], in);
}

const struct analysis analysis_cancel_storm = {
	.name = "cancel-storm",
	.summary = "types whose tasks are mostly cancelled",
	.thresholds = thresholds,
	.group_size = sizeof(struct cancelled),
	.ops = &ops,
	.finish = finish,
};
