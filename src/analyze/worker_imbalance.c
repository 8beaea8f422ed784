// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One worker has more than it can do while the others of its runtime sleep. A worker that is merely
 * busy is none: something must have waited while it ran others, for long and often; a task that
 * gives way keeps nobody waiting, and what waits for a worker that the kernel does not run waits
 * for a CPU. Only workers of one multi-threaded runtime can help each other.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/vec.h"

/* dial9's measure: the busiest has three times what the others have. */
#define RATIO 3
/* The waits for the worker are so many, and so much of the time that it was busy. */
#define MIN_WAITS	 10
#define MIN_WAIT_PERCENT 10
/* A worker that does nothing for longer than this between two runs is not busy. */
#define MAX_PAUSE_NS 100000

enum { LIMIT_BUSY, LIMIT_WAIT };

static const struct threshold thresholds[] = {
	[LIMIT_BUSY] = { "worker-imbalance", THRESHOLD_PERCENT, 80,
			 "a worker busy for this share of the time" },
	[LIMIT_WAIT] = { "worker-imbalance-wait", THRESHOLD_NS, 1000000,
			 "… and a run that waits this long for it" },
	{ 0 },
};

struct worker {
	uint64_t since, until; /* its latest stretch of runs without a pause */
	uint64_t nr, ns;       /* runs that waited too long for others there, and how long in all */
	uint64_t max_ns, time_ns;
	struct model_key task; /* that waited longest */
	/* The type that holds the worker more than all others together, if one does: time of its
	 * runs counts for it, that of others against it, and who has nothing left is replaced. */
	uint16_t holder;
	uint64_t held_ns;
};

struct state {
	uint64_t limit_ns;
	VEC(struct worker) workers; /* by thread */
};

static void init(void *state, const struct analysis_input *in)
{
	((struct state *)state)->limit_ns = in->limits[LIMIT_WAIT];
}

static void release(void *state)
{
	vec_release(&((struct state *)state)->workers);
}

static struct worker *worker_of(struct state *s, uint32_t thread)
{
	while (unlikely(thread >= s->workers.nr))
		vec_push(&s->workers, (struct worker){ .holder = EVENT_TYPE_NONE });
	return &s->workers.v[thread];
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct worker *w = worker_of(s, run->thread);
	uint64_t ns = run->end_ns - run->start_ns, ready = run->start_ns - run->sched_ns;
	uint64_t from = MAX(ready, w->since), waited = w->until > from ? w->until - from : 0;

	if (run->start_ns > w->until + MAX_PAUSE_NS)
		w->since = run->start_ns;
	w->until = run->end_ns;
	if (w->holder == run->task->key.type) {
		w->held_ns += ns;
	} else if (w->held_ns >= ns) {
		w->held_ns -= ns;
	} else {
		w->holder = run->task->key.type;
		w->held_ns = ns - w->held_ns;
	}
	if (waited < s->limit_ns)
		return;
	w->nr++;
	w->ns += waited;
	if (waited <= w->max_ns)
		return;
	w->max_ns = waited;
	w->time_ns = from;
	w->task = run->task->key;
}

static const struct model_ops ops = { .run = on_run };

/* The busiest workers of a runtime. */
struct pair {
	const struct model_thread *first;
	uint64_t second_ns;
	uint64_t nr;
};

static struct pair busiest(const struct analysis_input *in, uint32_t runtime)
{
	struct pair p = { 0 };

	for (size_t i = 0; i < in->nr_threads; i++) {
		const struct model_thread *t = &in->threads[i];

		if (t->kind != MODEL_WORKER || !t->is_launched || t->runtime != runtime)
			continue;
		p.nr++;
		if (!p.first || t->busy_ns > p.first->busy_ns) {
			p.second_ns = p.first ? p.first->busy_ns : 0;
			p.first = t;
		} else {
			p.second_ns = MAX(p.second_ns, t->busy_ns);
		}
	}
	return p;
}

static bool is_overloaded(const struct pair *p, const struct worker *w,
			  const struct analysis_input *in)
{
	uint64_t busy_ns = p->first->busy_ns;

	return busy_ns * 100 >= in->duration_ns * in->limits[LIMIT_BUSY] &&
	       p->second_ns <= busy_ns / RATIO && w->nr >= MIN_WAITS &&
	       w->ns * 100 >= busy_ns * MIN_WAIT_PERCENT;
}

static void say(const struct pair *p, const struct worker *w, const struct analysis_input *in)
{
	uint64_t busy_ns = p->first->busy_ns, duration_ns = MAX(in->duration_ns, UINT64_C(1));
	bool is_held = w->held_ns * 2 >= busy_ns;
	struct finding *f =
		finding_add(in, SEVERITY_WARNING, is_held ? w->holder : EVENT_TYPE_NONE);
	unsigned share = busy_ns * 100 / duration_ns, second = p->second_ns * 100 / duration_ns;
	char nr[FORMAT_SIZE], ns[FORMAT_SIZE];

	f->harm_ns = w->ns;
	f->has_task = true;
	f->task = w->task;
	f->thread = p->first->thread;
	f->time_ns = w->time_ns;
	f->span_ns = w->max_ns;
	finding_figure(f, "busy_percent", FIGURE_PERCENT, share);
	finding_figure(f, "next_busy_percent", FIGURE_PERCENT, second);
	finding_figure(f, "workers", FIGURE_COUNT, p->nr);
	finding_figure(f, "waits", FIGURE_COUNT, w->nr);
	finding_figure(f, "waited_ns", FIGURE_NS, w->ns);
	finding_figure(f, "max_ns", FIGURE_NS, w->max_ns);
	finding_say(
		f,
		"one of %llu workers was busy %u%% of the time, and no other more than %u%%; %s "
		"runs waited %s in all for it",
		(unsigned long long)p->nr, share, second, format_grouped(w->nr, nr),
		format_span(w->ns, ns));
	finding_advise(f, "split the work on this worker into tasks, or move it to "
			  "spawn_blocking: tasks that it wakes wait in a slot that no other "
			  "worker takes from");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t r = 0; r < in->rec->nr_runtimes; r++) {
		struct pair p = busiest(in, r);

		if (p.nr >= 2 && is_overloaded(&p, worker_of(s, p.first->thread), in))
			say(&p, worker_of(s, p.first->thread), in);
	}
}

const struct analysis analysis_worker_imbalance = {
	.name = "worker-imbalance",
	.summary = "one worker overloaded while the others sleep",
	.thresholds = thresholds,
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};
