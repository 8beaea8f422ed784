// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls that keep their worker for long: other tasks wait. They compute, or they are in a system
 * call that blocks and is not seen, or the kernel took their CPU away. The last is the machine's
 * fault, so that time does not count. Where the kernel did not tell, it all counts, and what to do
 * is said for both of the others.
 */
#include "analyze/analyses.h"
#include "analyze/cpu_use.h"
#include "analyze/over_limit.h"
#include "base/format.h"

enum { LIMIT_WARN, LIMIT_CRITICAL, LIMIT_COUNT };

/* dial9's limits */
static const struct threshold thresholds[] = {
	[LIMIT_WARN] = { "long-poll", THRESHOLD_NS, 10000000,
			 "a poll that keeps its worker this long, awake" },
	[LIMIT_CRITICAL] = { "long-poll-critical", THRESHOLD_NS, 50000000,
			     "… and one that is critical" },
	[LIMIT_COUNT] = { "long-poll-count", THRESHOLD_COUNT, 5,
			  "number of such polls of a type; one N times as long counts N times" },
	{ 0 },
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns, critical_ns;
	struct over_limit *by_group;
	struct cpu_uses uses;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_WARN];
	s->critical_ns = in->limits[LIMIT_CRITICAL];
	s->by_group = in->by_group;
	cpu_uses_init(&s->uses, in->rec);
	analysis_watch(in, s->limit_ns, UINT64_MAX);
}

static void release(void *state)
{
	struct state *s = state;

	cpu_uses_release(&s->uses);
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	uint64_t ns = run_awake_ns(run);

	if (likely(ns < s->limit_ns) || !run_holds_worker(run) || run->is_panicked)
		return;
	over_limit_add(&s->by_group[recording_group_of(s->rec, run->task->key.type)], run, ns,
		       s->limit_ns, s->critical_ns);
	cpu_uses_add(&s->uses, run, ns);
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	cpu_uses_sleep(&((struct state *)sink)->uses, sleep);
}

static const struct model_ops ops = { .sleep = on_sleep };

/* What most of the time was. */
enum cause { CAUSE_CPU, CAUSE_UNSEEN, CAUSE_MACHINE, CAUSE_UNKNOWN };

static const char *const advices[] = {
	[CAUSE_CPU] = "split the work with yield_now, or move it to spawn_blocking",
	[CAUSE_UNSEEN] = "look for calls that futrace does not see (file or pipe I/O, DNS, flock, "
			 "locks of C), and move them to spawn_blocking",
	[CAUSE_MACHINE] = "check the other load: the machine had no CPU free for these polls",
	[CAUSE_UNKNOWN] =
		"split work with yield_now, and move calls that block (files, pipes, DNS, "
		"locks of C) to spawn_blocking",
};

static void say(const struct over_limit *o, const struct cpu_use *use, struct finding *f,
		enum cause cause, uint64_t limit_ns)
{
	char count[FORMAT_SIZE], limit[FORMAT_SIZE], all[FORMAT_SIZE], max[FORMAT_SIZE];
	char part[FORMAT_SIZE], *rest = NULL;

	f->harm_ns = o->ns - use->wait_ns;
	finding_point(f, &o->worst);
	finding_figure(f, "polls", FIGURE_COUNT, o->nr);
	finding_figure(f, "busy_ns", FIGURE_NS, o->ns);
	finding_figure(f, "max_ns", FIGURE_NS, o->worst.span_ns);
	finding_figure(f, "cpu_wait_ns", FIGURE_NS, use->wait_ns);
	finding_figure(f, "unseen_ns", FIGURE_NS, use->unseen_ns);
	finding_figure(f, "unknown_ns", FIGURE_NS, use->unknown_ns);
	if (cause == CAUSE_UNSEEN)
		rest = xasprintf(", at least %s of it in calls that block",
				 format_span(use->unseen_ns, part));
	else if (cause == CAUSE_MACHINE)
		rest = xasprintf(", of which they waited %s for a CPU",
				 format_span(use->wait_ns, part));
	if (o->nr == 1)
		finding_say(f, "1 poll kept its worker for %s%s", format_span(o->ns, all),
			    rest ? rest : "");
	else
		finding_say(f, "%s polls of %s or more kept their worker for %s, the longest %s%s",
			    format_grouped(o->nr, count), format_span(limit_ns, limit),
			    format_span(o->ns, all), format_span(o->worst.span_ns, max),
			    rest ? rest : "");
	finding_advise(f, "%s", advices[cause]);
	free(rest);
}

static enum cause cause_of(const struct over_limit *o, const struct cpu_use *use)
{
	uint64_t own_ns = o->ns - use->wait_ns;

	if (use->unseen_ns > own_ns / 2)
		return CAUSE_UNSEEN;
	return use->unknown_ns > own_ns / 2 ? CAUSE_UNKNOWN : CAUSE_CPU;
}

/* Each counts as often as it is over the limit; what was their own time must do so as well. */
static bool is_enough(uint64_t weight, uint64_t own_ns, uint64_t limit_ns, uint64_t count)
{
	return weight >= count && own_ns / MAX(limit_ns, UINT64_C(1)) >= count;
}

static void judge(const struct over_limit *o, const struct cpu_use *use, uint16_t type,
		  const struct analysis_input *in)
{
	const uint64_t *limits = in->limits;
	uint64_t own_ns = o->ns - use->wait_ns, count = limits[LIMIT_COUNT];
	enum severity severity = SEVERITY_WARNING;
	enum cause cause = cause_of(o, use);

	if (!o->nr || o->weight < count)
		return;
	if (own_ns / o->nr >= limits[LIMIT_WARN] / 2 &&
	    is_enough(o->weight, own_ns, limits[LIMIT_WARN], count)) {
		if (is_enough(o->critical_weight, own_ns, limits[LIMIT_CRITICAL], count))
			severity = SEVERITY_CRITICAL;
	} else {
		/* short ones that the machine made long */
		if (o->critical_weight < count)
			return;
		severity = SEVERITY_NOTE;
		cause = CAUSE_MACHINE;
	}
	say(o, use, finding_add(in, severity, type), cause, limits[LIMIT_WARN]);
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	cpu_uses_finish(&s->uses);
	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		judge(&s->by_group[g], &s->uses.by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_long_poll = {
	.name = "long-poll",
	.summary = "polls that occupy their worker for long, on the CPU or in an unseen call",
	.thresholds = thresholds,
	.group_size = sizeof(struct over_limit),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
};
