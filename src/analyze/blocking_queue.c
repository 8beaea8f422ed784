// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Closures for spawn_blocking that wait until a thread of the pool is done with another one. A wait
 * for a thread that had nothing to do, or that was yet to be started, is not the pool's fault: such
 * a thread comes as soon as it gets a CPU. If that takes long, and as often, the pool is not too
 * small: it has more threads than there are CPUs for them.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/vec.h"

enum { LIMIT_WAIT, LIMIT_NR };

static const struct threshold thresholds[] = {
	[LIMIT_WAIT] = { "blocking-queue", THRESHOLD_NS, 10000000,
			 "a closure that waits this long for a thread" },
	[LIMIT_NR] = { "blocking-queue-count", THRESHOLD_COUNT, 5, "… number of such closures" },
	{ 0 },
};

struct queued {
	struct histogram wait; /* of all closures whose wait is known */
	uint64_t nr, ns;       /* those that waited too long, and how long in all */
	uint64_t nr_late;      /* … so long for a thread that had nothing else to do */
	uint64_t max_ns, time_ns;
	uint32_t thread;
	struct model_key task;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns;
	struct queued *by_group;
	VEC(uint64_t) last_end; /* by thread: when it was done with its latest closure */
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_WAIT];
	s->by_group = in->by_group;
}

static void release(void *state)
{
	struct state *s = state;

	for (uint32_t g = 0; g < s->rec->nr_groups; g++)
		histogram_release(&s->by_group[g].wait);
	vec_release(&s->last_end);
}

/* Was the thread busy with another closure when this one came? */
static bool was_busy(struct state *s, const struct model_run *run)
{
	bool was;

	while (run->thread >= s->last_end.nr)
		vec_push(&s->last_end, 0);
	was = s->last_end.v[run->thread] > run->start_ns - run->sched_ns;
	s->last_end.v[run->thread] = run->end_ns;
	return was;
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct queued *q;
	bool is_queued;

	if (run->task->kind != TRACE_BLOCKING || run->flags)
		return;
	is_queued = was_busy(s, run);
	if (!run->task->spawn_exact || !run->is_gap_known)
		return;
	q = &s->by_group[recording_group_of(s->rec, run->task->key.type)];
	histogram_add(&q->wait, run->sched_ns);
	if (run->sched_ns < s->limit_ns)
		return;
	if (!is_queued) {
		q->nr_late++;
		return;
	}
	q->nr++;
	q->ns += run->sched_ns;
	if (run->sched_ns <= q->max_ns)
		return;
	q->max_ns = run->sched_ns;
	q->time_ns = run->start_ns - run->sched_ns;
	q->thread = run->thread;
	q->task = run->task->key;
}

/* Threads of the pool, of the copy of the runtime that the task belongs to. */
static uint64_t nr_pool_threads(const struct analysis_input *in, uint32_t runtime)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < in->nr_threads; i++)
		nr += in->threads[i].kind == MODEL_BLOCKING && in->threads[i].runtime == runtime;
	return nr;
}

static void say(const struct queued *q, uint16_t type, const struct analysis_input *in)
{
	bool is_short_of_cpu = q->nr_late >= q->nr;
	struct finding *f =
		finding_add(in, is_short_of_cpu ? SEVERITY_NOTE : SEVERITY_WARNING, type);
	uint64_t nr_threads = nr_pool_threads(in, q->task.runtime);
	char nr[FORMAT_SIZE], all[FORMAT_SIZE], ns[FORMAT_SIZE], max[FORMAT_SIZE];

	f->harm_ns = q->ns;
	f->has_task = true;
	f->task = q->task;
	f->thread = q->thread;
	f->time_ns = q->time_ns;
	f->span_ns = q->max_ns;
	finding_figure(f, "queued", FIGURE_COUNT, q->nr);
	finding_figure(f, "closures", FIGURE_COUNT, q->wait.nr);
	finding_figure(f, "queued_ns", FIGURE_NS, q->ns);
	finding_figure(f, "p99_ns", FIGURE_NS, histogram_percentile(&q->wait, 99));
	finding_figure(f, "max_ns", FIGURE_NS, q->max_ns);
	finding_figure(f, "pool_threads", FIGURE_COUNT, nr_threads);
	finding_figure(f, "late", FIGURE_COUNT, q->nr_late);
	finding_say(
		f,
		"%s of %s closures waited %s in all, up to %s each, for %s%llu blocking thread%s",
		format_grouped(q->nr, nr), format_grouped(q->wait.nr, all), format_span(q->ns, ns),
		format_span(q->max_ns, max), is_short_of_cpu ? "a CPU for one of " : "",
		(unsigned long long)nr_threads, plural(nr_threads));
	if (is_short_of_cpu)
		finding_advise(f, "there are more threads than CPUs: limit concurrent closures "
				  "with a Semaphore, or compute on rayon");
	else
		finding_advise(f, "raise max_blocking_threads or limit concurrent closures; "
				  "give long work a thread of its own");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (s->by_group[g].nr && s->by_group[g].nr >= in->limits[LIMIT_NR])
			say(&s->by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_blocking_queue = {
	.name = "blocking-queue",
	.summary = "closures that wait for a thread of the blocking pool",
	.thresholds = thresholds,
	.group_size = sizeof(struct queued),
	.state_size = sizeof(struct state),
	.init = init,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
};
