// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the sinks are given of a run: itself, what came before it, and the runs around it. */
#include "model/internal.h"

/* How the run that is told lies among the others of its thread. */
static void place_run(const struct model *m, struct run_ref ref, struct model_run *run)
{
	const struct thread *thr = &m->threads.v[ref.thread];
	const struct frame *f = &thr->stack.v[ref.depth];
	bool holds_open = ref.depth + 1 < thr->stack.nr || future_is_open(thr, ref.depth), is_cut;

	run->outer_start_ns = run->around_ns = MODEL_NO_RUN;
	/* in an absurd stream the frame of an open run may be gone */
	run->is_torn = ref.depth >= thr->stack.nr || !f->task || &f->task->pub != run->task;
	if (run->is_torn)
		return;
	run->path = f->path;
	run->is_panicked |= f->has_panic;
	is_cut = run->start_ns != f->start || run->end_ns != m->now;
	run->is_torn = (holds_open && !run->is_open) || (is_cut && f->has_inner) ||
		       (is_cut && f->has_futures &&
			(run->start_ns > f->futures_from || run->end_ns < f->futures_to));
	for (size_t i = ref.depth; i-- > 0 && run->outer_start_ns == MODEL_NO_RUN;) {
		const struct frame *outer = &thr->stack.v[i];

		if (outer->task && is_told(m, outer->task))
			run->outer_start_ns = outer->start;
	}
	run->around_ns = unlikely(thr->futures.nr)
				 ? future_around(thr, ref.depth, run->outer_start_ns)
				 : run->outer_start_ns;
}

/* A root keeps tasks waiting if its thread has run any since it began: as current_thread does. */
static bool is_alone(const struct model *m, const struct task *t)
{
	return is_root(m, t->pub.key.type) && t->run.thread < m->threads.nr &&
	       m->threads.v[t->run.thread].task_ns <= t->pub.spawn_ns;
}

void tell_task_run(struct model *m, struct task *t, uint64_t end, bool is_open)
{
	const struct turn *turn = run_turn(t);
	struct model_run run = {
		.task = &t->pub,
		.start_ns = t->run_start,
		.end_ns = end,
		.blocked_ns = turn->blocked_ns,
		.idle_ns = turn->idle_ns,
		.sched_ns = turn->sched_ns,
		.waker = turn->is_woken ? &turn->waker : NULL,
		.thread = t->run.thread,
		.path = MODEL_NO_PATH,
		.flags = t->run_flags,
		.sleep_flags = turn->sleep_flags,
		.is_gap_known = !turn->is_unknown,
		.is_first = t->is_first_run,
		.is_off_worker = t->is_off_worker,
		.is_alone = is_alone(m, t),
		.is_open = is_open,
		.is_panicked = t->over_flags & EF_END_PANICKED,
	};

	place_run(m, t->run, &run);
	tell_run(m, &run);
}
