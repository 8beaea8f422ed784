// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that other tasks and threads wake again and again for next to nothing: the poll is over at
 * once, wakes and spawns nobody, and the task waits on. What it did to its own data is not seen, so
 * it may have taken a message; but then the wake cost about as much as the work. Only where that
 * adds up to a share of the workers' time is it worth a word. A poll that
 * computes takes longer, one that passes something on wakes somebody, and who waits for I/O or a
 * timer is woken by the worker.
 */
#include "analyze/analyses.h"
#include "analyze/worker_time.h"
#include "base/format.h"
#include "base/vec.h"

enum { LIMIT_NR, LIMIT_RATE, LIMIT_SHARE, LIMIT_POLL };

static const struct threshold thresholds[] = {
	[LIMIT_NR] = { "idle-wakes", THRESHOLD_COUNT, 1000, "number of wakes without work" },
	[LIMIT_RATE] = { "idle-wakes-rate", THRESHOLD_COUNT, 1000, "… per second" },
	[LIMIT_SHARE] = { "idle-wakes-share", THRESHOLD_PERCENT, 80,
			  "… as a share of the type's polls" },
	[LIMIT_POLL] = { "idle-wakes-poll", THRESHOLD_NS, 5000,
			 "a poll that takes this long did work" },
	{ 0 },
};

struct idle {
	uint64_t nr, ns; /* polls for nothing */
	uint64_t nr_children;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns;
	struct idle *by_group;
	/* By thread: the run that is open there woke a task. */
	VEC(bool) did_wake;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_POLL];
	s->by_group = in->by_group;
}

static void release(void *state)
{
	struct state *s = state;

	vec_release(&s->did_wake);
}

static bool *did_wake(struct state *s, uint32_t thread)
{
	while (unlikely(thread >= s->did_wake.nr))
		vec_push(&s->did_wake, false);
	return &s->did_wake.v[thread];
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	if (wake->waker->has_key && wake->waker->thread != MODEL_NO_THREAD)
		*did_wake(sink, wake->waker->thread) = true;
}

/* Told too late to know the run that did it. */
static void on_spawn(void *sink, const struct model_task *t)
{
	struct state *s = sink;

	if (t->has_parent)
		s->by_group[recording_group_of(s->rec, t->parent.type)].nr_children++;
}

static bool is_foreign(enum model_cause cause)
{
	return cause == MODEL_BY_TASK || cause == MODEL_BY_THREAD;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	bool *did = did_wake(s, run->thread);
	uint64_t ns = run->end_ns - run->start_ns;
	struct idle *i;

	if (*did) {
		*did = false;
		return;
	}
	if (ns >= s->limit_ns || !run->waker || !is_foreign(run->waker->cause))
		return;
	i = &s->by_group[recording_group_of(s->rec, run->task->key.type)];
	i->nr++;
	i->ns += ns;
}

static const struct model_ops ops = { .spawn = on_spawn, .wake = on_wake, .run = on_run };

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* A run is told before its task's end: each end, and each spawn, may have been one of them. */
static uint64_t nr_certain(const struct idle *i, const struct by_type_row *row)
{
	return minus(i->nr, i->nr_children + row->nr_tasks - row->ends[MODEL_ALIVE]);
}

static bool is_fault(const struct idle *i, const struct by_type_row *row,
		     const struct analysis_input *in)
{
	uint64_t nr = nr_certain(i, row);

	return nr && nr >= in->limits[LIMIT_NR] &&
	       nr * 100 >= row->polls * in->limits[LIMIT_SHARE] &&
	       nr >= in->limits[LIMIT_RATE] * (in->duration_ns / 1e9) && is_costly(i->ns, in);
}

static void say(const struct idle *i, const struct by_type_row *row,
		const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_WARNING, row->group->type);
	uint64_t nr = nr_certain(i, row);
	char polls[FORMAT_SIZE], mean[FORMAT_SIZE], all[FORMAT_SIZE];

	f->harm_ns = i->ns;
	finding_figure(f, "idle_wakes", FIGURE_COUNT, nr);
	finding_figure(f, "polls", FIGURE_COUNT, row->polls);
	finding_figure(f, "share_percent", FIGURE_PERCENT, nr * 100 / MAX(row->polls, UINT64_C(1)));
	finding_figure(f, "busy_ns", FIGURE_NS, i->ns);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_say(f,
		    "%s wakes led to polls of only %s each, %s in all, that woke no task and "
		    "waited again",
		    format_grouped(nr, polls), format_span(i->ns / i->nr, mean),
		    format_span(i->ns, all));
	finding_advise(f,
		       "wake it only when there is something for it to do (notify_one instead of "
		       "notify_waiters, a longer interval), or hand it its work in batches "
		       "(recv_many)");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (is_fault(&s->by_group[g], &in->rows[g], in))
			say(&s->by_group[g], &in->rows[g], in);
}

const struct analysis analysis_idle_wakes = {
	.name = "idle-wakes",
	.summary = "tasks that are woken again and again for next to nothing",
	.thresholds = thresholds,
	.group_size = sizeof(struct idle),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};
