// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that panicked when nobody held their JoinHandle: the runtime caught the panic, and the
 * program goes on without the task and without knowing.
 */
#include "analyze/analyses.h"
#include "base/format.h"

enum { LIMIT_NR };

static const struct threshold thresholds[] = {
	[LIMIT_NR] = { "lost-panic", THRESHOLD_COUNT, 1, "so many panics that nobody learns of" },
	{ 0 },
};

struct lost {
	uint64_t nr;
	uint64_t busy_ns; /* work that came to nothing */
	uint64_t time_ns; /* of the first one's panic */
	struct model_key task;
};

static void on_task(void *sink, const struct model_task *t)
{
	const struct analysis_input *in = sink;
	struct lost *by_group = in->by_group, *l;

	if (t->end != MODEL_PANICKED || t->is_wanted)
		return;
	l = &by_group[recording_group_of(in->rec, t->key.type)];
	if (!l->nr++) {
		l->time_ns = t->end_ns;
		l->task = t->key;
	}
	l->busy_ns += t->ns[MODEL_RUNNING];
}

static const struct model_ops ops = { .task = on_task };

static void say(const struct lost *l, const struct by_type_row *row,
		const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_WARNING, row->group->type);
	uint64_t nr_panics = row->ends[MODEL_PANICKED];
	char lost[FORMAT_SIZE], all[FORMAT_SIZE];

	f->harm_ns = l->busy_ns;
	f->has_task = true;
	f->task = l->task;
	f->time_ns = l->time_ns;
	finding_figure(f, "lost_panics", FIGURE_COUNT, l->nr);
	finding_figure(f, "panics", FIGURE_COUNT, nr_panics);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_figure(f, "busy_ns", FIGURE_NS, l->busy_ns);
	if (l->nr == nr_panics)
		finding_say(f, "%s task%s panicked, and nobody held the JoinHandle",
			    format_grouped(l->nr, lost), plural(l->nr));
	else
		finding_say(f, "%s of %s tasks that panicked had nobody holding the JoinHandle",
			    format_grouped(l->nr, lost), format_grouped(nr_panics, all));
	finding_advise(f,
		       "keep the JoinHandle, or the task in a JoinSet, and look at its JoinError");
}

static void finish(void *state, const struct analysis_input *in)
{
	const struct lost *by_group = in->by_group;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (by_group[g].nr && by_group[g].nr >= in->limits[LIMIT_NR])
			say(&by_group[g], &in->rows[g], in);
}

const struct analysis analysis_lost_panic = {
	.name = "lost-panic",
	.summary = "tasks that panicked when nobody held their JoinHandle",
	.thresholds = thresholds,
	.group_size = sizeof(struct lost),
	.ops = &ops,
	.finish = finish,
};
