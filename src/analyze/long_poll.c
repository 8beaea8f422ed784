// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls that keep the CPU, or a system call that is not seen, for long: other tasks of the worker
 * wait. The kernel may also have taken the CPU away meanwhile. When the program's CPU time shows
 * that this could explain the long polls, only those over the critical limit count.
 */
#include "analyze/analyses.h"
#include "analyze/over_limit.h"
#include "base/format.h"

enum { LIMIT_WARN, LIMIT_CRITICAL, LIMIT_COUNT };

/* dial9's limits */
static const struct threshold thresholds[] = {
	[LIMIT_WARN] = { "long-poll", THRESHOLD_NS, 10000000,
			 "a poll that keeps the CPU this long" },
	[LIMIT_CRITICAL] = { "long-poll-critical", THRESHOLD_NS, 50000000,
			     "… and one that is critical" },
	[LIMIT_COUNT] = { "long-poll-count", THRESHOLD_COUNT, 5,
			  "so many such polls of a type; one N times as long counts N times" },
	{ 0 },
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns, critical_ns;
	struct over_limit *by_group;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_WARN];
	s->critical_ns = in->limits[LIMIT_CRITICAL];
	s->by_group = xcalloc(in->rec->nr_groups, sizeof(*s->by_group));
	analysis_watch(in, s->limit_ns, UINT64_MAX);
}

static void release(void *state)
{
	free(((struct state *)state)->by_group);
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	uint64_t ns = run->end_ns - run->start_ns;

	if (likely(ns < s->limit_ns))
		return;
	ns -= MIN(ns, run->blocked_ns); /* blocked-poll tells of the rest */
	if (ns < s->limit_ns || run->flags || run->task->kind == TRACE_BLOCKING ||
	    run->is_off_worker)
		return;
	over_limit_add(&s->by_group[recording_group_of(s->rec, run->task->key.type)], run, ns,
		       s->limit_ns, s->critical_ns);
}

static void say(const struct over_limit *o, bool is_off_cpu, uint16_t type,
		const struct analysis_input *in)
{
	struct finding *f = finding_add(in, over_limit_severity(o, in->limits[LIMIT_COUNT]), type);
	char count[FORMAT_SIZE], all[FORMAT_SIZE], max[FORMAT_SIZE];

	f->harm_ns = o->ns;
	finding_point(f, &o->worst);
	finding_figure(f, "polls", FIGURE_COUNT, o->nr);
	finding_figure(f, "busy_ns", FIGURE_NS, o->ns);
	finding_figure(f, "max_ns", FIGURE_NS, o->worst.span_ns);
	if (o->nr == 1)
		finding_say(f, "1 poll kept its worker busy for %s", format_span(o->ns, all));
	else
		finding_say(f, "%s polls kept their worker busy for %s in all, the longest %s",
			    format_grouped(o->nr, count), format_span(o->ns, all),
			    format_span(o->worst.span_ns, max));
	if (is_off_cpu)
		finding_advise(f, "look for calls that block, such as reading a file or a socket "
				  "of std, and move them to spawn_blocking; much of this time was "
				  "not CPU time");
	else
		finding_advise(f, "split the work with yield_now, or move it to spawn_blocking");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++) {
		const struct over_limit *o = &s->by_group[g];
		bool is_off_cpu = in->off_cpu_ns >= o->ns - o->ns / 4;
		uint64_t weight = is_off_cpu ? o->critical_weight : o->weight;

		if (o->nr && weight >= in->limits[LIMIT_COUNT])
			say(o, is_off_cpu, in->rec->groups[g].type, in);
	}
}

const struct analysis analysis_long_poll = {
	.name = "long-poll",
	.summary = "polls that keep the CPU of their worker for long",
	.thresholds = thresholds,
	.state_size = sizeof(struct state),
	.init = init,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
};
