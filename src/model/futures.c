// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls of inner futures nest on their thread, in each other and among the runs of tasks. They
 * change nothing in the lives of tasks: they say what a run spent its time with.
 */
#include "model/internal.h"

static struct future_frame *top(const struct thread *thr)
{
	return thr->futures.nr ? &thr->futures.v[thr->futures.nr - 1] : NULL;
}

/* The run that a poll is in when so many are open. */
static struct frame *run_of(const struct thread *thr, uint32_t depth)
{
	return depth && depth <= thr->stack.nr ? &thr->stack.v[depth - 1] : NULL;
}

void future_start(struct model *m, struct thread *thr, uint64_t future)
{
	struct future_frame *outer = top(thr);
	struct frame *run = run_of(thr, thr->stack.nr);
	struct future_frame f = { .start = m->now,
				  .future = MIN(future, UINT32_MAX),
				  .run_depth = thr->stack.nr };

	thr->is_asleep = false; /* as when a run begins */
	if (outer && outer->run_depth == thr->stack.nr) {
		f.depth = outer->depth + 1;
		f.is_resumed = outer->is_resumed && !outer->has_inner;
		outer->has_inner = true;
	} else if (run) {
		f.is_resumed = !run->has_futures;
	}
	if (run && !run->has_futures) {
		run->has_futures = true;
		run->futures_from = run->futures_to = m->now;
	}
	vec_push(&thr->futures, f);
}

uint64_t future_around(const struct thread *thr, uint32_t run_depth, uint64_t run_start)
{
	for (size_t i = thr->futures.nr; i-- > 0;)
		if (thr->futures.v[i].run_depth <= run_depth)
			return run_start == MODEL_NO_RUN ? thr->futures.v[i].start
							 : MAX(thr->futures.v[i].start, run_start);
	return run_start;
}

/* Few futures are open at a time. */
static bool holds(const struct thread *thr, uint32_t future)
{
	vec_each (f, &thr->futures)
		if (f->future == future)
			return true;
	return false;
}

/* Whose run it is in. False: nothing is to be told of it. */
static bool find_task(const struct model *m, const struct thread *thr, const struct future_frame *f,
		      struct model_future *to)
{
	const struct frame *run = run_of(thr, f->run_depth);

	to->run_start_ns = MODEL_NO_RUN;
	to->path = MODEL_NO_PATH;
	if (run && run->task && is_told(m, run->task)) {
		to->task = &run->task->pub;
		to->run_start_ns = run->start;
		to->path = run->path;
	}
	to->around_ns = future_around(thr, f->run_depth, to->run_start_ns);
	/* with a filter, only what is known to be in a task that it wants */
	return to->task || !m->wants;
}

static struct future_frame take_out(struct thread *thr, size_t i)
{
	struct future_frame f = thr->futures.v[i];

	for (i++; i < thr->futures.nr; i++)
		thr->futures.v[i - 1] = thr->futures.v[i];
	thr->futures.nr--;
	return f;
}

/* The i-th of the thread's open ones is over. */
static void end_at(struct model *m, struct thread *thr, size_t i, uint8_t flags, bool is_open)
{
	struct future_frame f = take_out(thr, i), *outer = i ? &thr->futures.v[i - 1] : NULL;
	uint64_t ns = m->now - f.start;
	struct frame *run = run_of(thr, f.run_depth);
	struct model_future future = {
		.future = f.future,
		.thread = thr->pub.thread,
		.depth = f.depth,
		.start_ns = f.start,
		.end_ns = m->now,
		.self_ns = ns - MIN(f.inner_ns, ns),
		.flags = flags,
		.is_open = is_open,
		.is_resumed = f.is_resumed,
	};

	if (outer && outer->run_depth == f.run_depth)
		outer->inner_ns += ns;
	if (run)
		run->futures_to = m->now;
	if (!m->wants_futures || !find_task(m, thr, &f, &future))
		return;
	future.is_recursive = holds(thr, f.future);
	tell_future(m, &future);
}

/* SIZE_MAX: none is open. With a task: in a run of it. */
static size_t find_open(const struct thread *thr, uint32_t future, const struct model_key *key)
{
	for (size_t i = thr->futures.nr; i-- > 0;) {
		const struct future_frame *f = &thr->futures.v[i];
		const struct frame *run = run_of(thr, f->run_depth);

		if (f->future == future && (!key || (run && is_same_task(&run->key, key))))
			return i;
	}
	return SIZE_MAX;
}

/* The latest of that definition, in a run of that task if any is; on another thread if on this one
 * there is none. */
static void end_future_of(struct model *m, struct thread *thr, uint8_t flags)
{
	const struct end_of of = thr->end_of;
	size_t i = of.id ? find_open(thr, of.future, &of.key) : SIZE_MAX;

	if (i == SIZE_MAX)
		i = find_open(thr, of.future, NULL);
	for (size_t k = 0; i == SIZE_MAX && k < m->threads.nr; k++) {
		thr = &m->threads.v[k];
		i = find_open(thr, of.future, NULL);
	}
	if (i == SIZE_MAX)
		m->totals.nr_stray++;
	else
		end_at(m, thr, i, flags, false);
}

void future_end(struct model *m, struct thread *thr, uint8_t flags)
{
	thr->is_asleep = false;
	if (unlikely(thr->has_end_of)) {
		thr->has_end_of = false;
		end_future_of(m, thr, flags);
		return;
	}
	if (thr->futures.nr)
		end_at(m, thr, thr->futures.nr - 1, flags, false);
	else
		m->totals.nr_stray++;
}

bool future_is_open(const struct thread *thr, uint32_t run_depth)
{
	return thr->futures.nr && top(thr)->run_depth > run_depth;
}

void future_cut(struct model *m, struct thread *thr, uint32_t run_depth)
{
	while (future_is_open(thr, run_depth)) {
		thr->futures.nr--;
		m->totals.nr_stray++;
	}
}

void future_run_over(struct model *m, struct thread *thr, uint64_t start)
{
	struct future_frame *outer;

	future_cut(m, thr, thr->stack.nr);
	outer = top(thr);
	if (outer && outer->run_depth == thr->stack.nr)
		outer->inner_ns += m->now - start;
}

void future_run_left(struct model *m, struct thread *thr, uint32_t run_depth)
{
	for (size_t i = thr->futures.nr; i-- > 0;) {
		struct future_frame *f = &thr->futures.v[i];

		if (f->run_depth == run_depth + 1) {
			take_out(thr, i);
			m->totals.nr_stray++;
		} else if (f->run_depth > run_depth) {
			f->run_depth--;
		}
	}
}

void future_forget(struct model *m, struct thread *thr)
{
	m->totals.nr_stray += thr->futures.nr;
	thr->futures.nr = 0;
}

void future_finish(struct model *m, struct thread *thr)
{
	while (thr->futures.nr)
		end_at(m, thr, thr->futures.nr - 1, 0, true);
}
