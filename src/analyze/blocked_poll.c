// SPDX-License-Identifier: MIT OR Apache-2.0
/* Polls that sleep in the kernel: the worker that they run on can do nothing else meanwhile. */
#include <string.h>

#include "analyze/analyses.h"
#include "base/format.h"

enum { LIMIT_WARN, LIMIT_CRITICAL };

static const struct threshold thresholds[] = {
	[LIMIT_WARN] = { "blocked-poll", THRESHOLD_NS, 10000000, "a poll that sleeps this long" },
	[LIMIT_CRITICAL] = { "blocked-poll-critical", THRESHOLD_NS, 50000000,
			     "… and one that is critical" },
	{ 0 },
};

struct worst {
	uint64_t nr, ns; /* polls that slept too long, and how long in all */
	uint64_t max_ns, time_ns;
	uint32_t thread;
	struct model_key task;
	uint8_t flags;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns;
	struct worst *by_group;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_WARN];
	s->by_group = xcalloc(in->rec->nr_groups, sizeof(*s->by_group));
}

static void release(void *state)
{
	free(((struct state *)state)->by_group);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct worst *w;

	/* Sleeping is what closures on the blocking pool are for, and block_in_place. */
	if (run->blocked_ns < s->limit_ns || run->task->kind == TRACE_BLOCKING ||
	    run->is_off_worker)
		return;
	w = &s->by_group[recording_group_of(s->rec, run->task->key.type)];
	w->nr++;
	w->ns += run->blocked_ns;
	w->flags |= run->sleep_flags;
	if (run->blocked_ns <= w->max_ns)
		return;
	w->max_ns = run->blocked_ns;
	w->time_ns = run->start_ns;
	w->thread = run->thread;
	w->task = run->task->key;
}

static const struct model_ops ops = { .run = on_run };

static const char *advice(uint8_t flags)
{
	if (flags == EF_SLEEP_FUTEX)
		return "the poll waits for a lock or a condition of std: hold it shorter, or use one "
		       "of tokio::sync";
	if (flags == EF_SLEEP_TIMED)
		return "use tokio::time::sleep, or move the call to spawn_blocking";
	return "move the blocking call to spawn_blocking, or use its async form";
}

static void say(const struct worst *w, uint16_t type, const struct analysis_input *in)
{
	bool is_critical = w->max_ns >= in->limits[LIMIT_CRITICAL];
	struct finding *f =
		finding_add(in, is_critical ? SEVERITY_CRITICAL : SEVERITY_WARNING, type);
	char all[FORMAT_SIZE], max[FORMAT_SIZE];

	f->harm_ns = w->ns;
	f->has_task = true;
	f->task = w->task;
	f->thread = w->thread;
	f->time_ns = w->time_ns;
	f->span_ns = w->max_ns;
	finding_figure(f, "polls", FIGURE_COUNT, w->nr);
	finding_figure(f, "blocked_ns", FIGURE_NS, w->ns);
	finding_figure(f, "max_ns", FIGURE_NS, w->max_ns);
	finding_say(f, "%llu poll%s slept %s in the kernel, the longest %s",
		    (unsigned long long)w->nr, plural(w->nr), format_span(w->ns, all),
		    format_span(w->max_ns, max));
	finding_advise(f, "%s", advice(w->flags));
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (s->by_group[g].nr)
			say(&s->by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_blocked_poll = {
	.name = "blocked-poll",
	.summary = "polls that sleep in the kernel and hold up their worker",
	.thresholds = thresholds,
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};
