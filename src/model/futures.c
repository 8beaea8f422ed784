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

void future_start(struct model *m, struct thread *thr, uint64_t future)
{
	const struct future_frame *outer = top(thr);
	bool is_inner = outer && outer->run_depth == thr->stack.nr;

	vec_push(&thr->futures, (struct future_frame){ .start = m->now,
						       .future = MIN(future, UINT32_MAX),
						       .depth = is_inner ? outer->depth + 1 : 0,
						       .run_depth = thr->stack.nr });
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
	const struct frame *run = f->run_depth && f->run_depth <= thr->stack.nr
					  ? &thr->stack.v[f->run_depth - 1]
					  : NULL;

	to->run_start_ns = MODEL_NO_RUN;
	if (run && run->task && is_told(m, run->task)) {
		to->task = &run->task->pub;
		to->run_start_ns = run->start;
	}
	/* with a filter, only what is known to be in a task that it wants */
	return to->task || !m->wants;
}

static void pop(struct model *m, struct thread *thr, uint8_t flags, bool is_open)
{
	struct future_frame f = thr->futures.v[--thr->futures.nr], *outer = top(thr);
	uint64_t ns = m->now - f.start;
	struct model_future future = {
		.future = f.future,
		.thread = thr->pub.thread,
		.depth = f.depth,
		.start_ns = f.start,
		.end_ns = m->now,
		.self_ns = ns - MIN(f.inner_ns, ns),
		.flags = flags,
		.is_open = is_open,
	};

	if (outer && outer->run_depth == f.run_depth)
		outer->inner_ns += ns;
	if (!m->wants_futures || !find_task(m, thr, &f, &future))
		return;
	future.is_recursive = holds(thr, f.future);
	tell_future(m, &future);
}

void future_end(struct model *m, struct thread *thr, uint8_t flags)
{
	if (thr->futures.nr)
		pop(m, thr, flags, false);
	else
		m->totals.nr_stray++;
}

void future_run_over(struct model *m, struct thread *thr, uint64_t start)
{
	struct future_frame *outer;

	/* the ends of those that began in it were not seen */
	while (thr->futures.nr && top(thr)->run_depth > thr->stack.nr) {
		thr->futures.nr--;
		m->totals.nr_stray++;
	}
	outer = top(thr);
	if (outer && outer->run_depth == thr->stack.nr)
		outer->inner_ns += m->now - start;
}

void future_forget(struct model *m, struct thread *thr)
{
	m->totals.nr_stray += thr->futures.nr;
	thr->futures.nr = 0;
}

void future_finish(struct model *m, struct thread *thr)
{
	while (thr->futures.nr)
		pop(m, thr, 0, true);
}
