// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that were spawned and that nobody ever polled, until their runtime went away and dropped
 * them: nobody drove it, or every worker was held for ever. Only what is certain counts: a spawn
 * that was seen, and an end. (One that is still in a queue at the end was only seen to be
 * allocated, and a channel of Tokio is allocated in the same way. One that was aborted before its
 * first poll is the business of cancel-storm.)
 */
#include "analyze/analyses.h"
#include "base/format.h"

enum { LIMIT_AGE };

static const struct threshold thresholds[] = {
	[LIMIT_AGE] = { "never-polled", THRESHOLD_NS, 100000000,
			"a task that existed this long and was never polled" },
	{ 0 },
};

struct unpolled {
	uint64_t nr;
	uint64_t ns, max_ns; /* how long they waited */
	uint64_t time_ns;    /* when the one that waited longest was spawned, and where */
	uint32_t thread;
	struct model_key task;
};

static void on_task(void *sink, const struct model_task *t)
{
	const struct analysis_input *in = sink;
	struct unpolled *by_group = in->by_group, *u;

	/* Where something was lost it is not known to have waited. */
	if (t->polls || !t->spawn_exact || t->end == MODEL_CANCELLED ||
	    t->ns[MODEL_SCHEDULED] < in->limits[LIMIT_AGE])
		return;
	u = &by_group[recording_group_of(in->rec, t->key.type)];
	u->nr++;
	u->ns += t->ns[MODEL_SCHEDULED];
	if (t->ns[MODEL_SCHEDULED] <= u->max_ns)
		return;
	u->max_ns = t->ns[MODEL_SCHEDULED];
	u->time_ns = t->spawn_ns;
	u->thread = t->spawn_thread;
	u->task = t->key;
}

static const struct model_ops ops = { .task = on_task };

static void say(const struct unpolled *u, const struct by_type_row *row,
		const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_WARNING, row->group->type);
	char nr[FORMAT_SIZE], max[FORMAT_SIZE];

	f->harm_ns = u->ns;
	f->has_task = true;
	f->task = u->task;
	f->thread = u->thread;
	f->time_ns = u->time_ns;
	f->span_ns = u->max_ns;
	finding_figure(f, "never_polled", FIGURE_COUNT, u->nr);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_figure(f, "waited_ns", FIGURE_NS, u->ns);
	finding_figure(f, "max_ns", FIGURE_NS, u->max_ns);
	finding_say(f, "%s task%s spawned and dropped without a poll, after %s%s",
		    format_grouped(u->nr, nr), u->nr == 1 ? " was" : "s were",
		    u->nr == 1 ? "" : "up to ", format_span(u->max_ns, max));
	finding_advise(f, "drive the runtime or LocalSet that they were spawned on, and make "
			  "sure that no poll blocks its worker");
}

static void finish(void *state, const struct analysis_input *in)
{
	const struct unpolled *by_group = in->by_group;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (by_group[g].nr)
			say(&by_group[g], &in->rows[g], in);
}

const struct analysis analysis_never_polled = {
	.name = "never-polled",
	.summary = "tasks that were spawned and never polled",
	.thresholds = thresholds,
	.group_size = sizeof(struct unpolled),
	.ops = &ops,
	.finish = finish,
};
