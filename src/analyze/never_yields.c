// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that were polled once and kept the CPU: they never gave their worker back, or only at their
 * end. tokio-console's "never yielded". What only sleeps in its poll is blocked-poll's.
 */
#include "analyze/analyses.h"
#include "analyze/over_limit.h"
#include "base/format.h"
#include "base/vec.h"

static const struct threshold thresholds[] = {
	{ "never-yields", THRESHOLD_NS, 1000000000,
	  "a task whose only poll keeps the CPU this long" },
	{ 0 },
};

struct sums {
	uint64_t nr, ns, nr_open; /* open: still in that poll when the recording ended */
	struct worst_run worst;
};

/* A long first run, until it shows whether others follow. */
struct first {
	struct worst_run run;
	bool is_open;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns;
	VEC(struct first) firsts; /* by slot; span_ns 0: none */
	struct sums *by_group;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[0];
	s->by_group = in->by_group;
	analysis_watch(in, s->limit_ns, UINT64_MAX);
}

static void release(void *state)
{
	struct state *s = state;

	vec_release(&s->firsts);
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	uint64_t ns = run_awake_ns(run);
	struct first first = { .is_open = run->is_open };

	if (likely(ns < s->limit_ns) || !ns || !run->is_first || !run_holds_worker(run))
		return;
	while (s->firsts.nr <= run->task->slot)
		vec_push(&s->firsts, (struct first){ 0 });
	worst_run_note(&first.run, run, ns);
	s->firsts.v[run->task->slot] = first;
}

static void on_task(void *sink, const struct model_task *t)
{
	struct state *s = sink;
	struct first *first;
	struct sums *sums;

	if (likely(t->slot >= s->firsts.nr) || !s->firsts.v[t->slot].run.span_ns)
		return;
	first = &s->firsts.v[t->slot];
	if (t->polls == 1) {
		sums = &s->by_group[recording_group_of(s->rec, t->key.type)];
		sums->nr++;
		sums->ns += first->run.span_ns;
		sums->nr_open += first->is_open;
		if (first->run.span_ns > sums->worst.span_ns)
			sums->worst = first->run;
	}
	*first = (struct first){ 0 }; /* somebody else may get the slot */
}

static const struct model_ops ops = { .task = on_task };

static void say(const struct sums *sums, uint16_t type, const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_CRITICAL, type);
	char count[FORMAT_SIZE], all[FORMAT_SIZE], max[FORMAT_SIZE];

	f->harm_ns = sums->ns;
	finding_point(f, &sums->worst);
	finding_figure(f, "tasks", FIGURE_COUNT, sums->nr);
	finding_figure(f, "open", FIGURE_COUNT, sums->nr_open);
	finding_figure(f, "busy_ns", FIGURE_NS, sums->ns);
	finding_figure(f, "max_ns", FIGURE_NS, sums->worst.span_ns);
	if (sums->nr == 1)
		finding_say(f, "a task kept its worker busy for %s in its only poll%s",
			    format_span(sums->ns, all), sums->nr_open ? " and is still in it" : "");
	else
		finding_say(f,
			    "%s tasks kept their workers busy for %s in all, each in its only "
			    "poll, the longest %s",
			    format_grouped(sums->nr, count), format_span(sums->ns, all),
			    format_span(sums->worst.span_ns, max));
	finding_advise(f, "move the work to spawn_blocking, or await yield_now in its loop");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (s->by_group[g].nr)
			say(&s->by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_never_yields = {
	.name = "never-yields",
	.summary = "tasks that occupy their worker in their only poll",
	.thresholds = thresholds,
	.group_size = sizeof(struct sums),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
	.covers = "long-poll",
};
