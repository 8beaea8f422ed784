// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two runs of one task that are open at a time. Three cases:
 *
 * - The hook of the earlier run has not stamped its end yet, although the runtime let the task go.
 *   The later run supersedes it: its end is clipped.
 * - A shutdown meets an open run. It cannot drop a future that runs, so it only marks the task. If
 *   the run is in fact over, the shutdown takes its place.
 * - A poll begins while a shutdown has the task: a rival. One of the two took the task, the other
 *   found it taken and did nothing. The first end among them tells which.
 */
#include "model/task_priv.h"

bool overlap_did_take(uint8_t flags)
{
	/* One whose drop panicked did drop; otherwise NOTIFIED stays for ever. */
	return (flags & EF_END_PANICKED) ||
	       ((flags & EF_END_COMPLETE) && (flags & EF_END_NOTIFIED));
}

/* Tokio clears NOTIFIED when it begins to poll, and CANCELLED is there once the shutdown took the
 * task. */
static bool found_taken(uint8_t flags)
{
	return (flags & EF_END_NOTIFIED) && (flags & EF_END_CANCELLED) &&
	       !(flags & EF_END_PANICKED);
}

/* The run that the model held for the task's own has no say any more. */
static void void_run(struct model *m, struct run_ref run)
{
	struct frame *f = frame_at(m, run);

	f->task = NULL;
	f->is_void = true;
}

static void supersede(struct model *m, struct task *t)
{
	bool was_lost = t->loss != m->loss;

	task_close_run(m, t, m->now, false);
	frame_at(m, t->run)->task = NULL;
	if (t->state != TASK_NOTIFIED && !was_lost)
		task_woken_unseen(m, t);
}

/* The shutdown that met a run finds the task free now. */
static void begin_shutdown(struct model *m, struct task *t)
{
	struct run_ref run = t->shutdown;

	t->shutdown = RUN_REF_NONE;
	task_begin_run(m, t, run, t->shutdown_flags);
}

static void meet_shutdown(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (has_shutdown(t))
		frame_at(m, t->shutdown)->task = NULL;
	t->shutdown = run;
	t->shutdown_flags = flags;
	t->shutdown_start = m->now;
	t->shutdown_loss = m->loss;
	t->saw_shutdown = true;
}

void overlap_shutdown(struct model *m, struct task *t, const struct task_event *ev)
{
	meet_shutdown(m, t, ev->run, ev->flags);
}

void overlap_take_over(struct model *m, struct task *t, const struct task_event *ev)
{
	bool is_notified = t->state == TASK_NOTIFIED;

	(void)ev;
	/* it was queued again, and the shutdown took it from there */
	if (t->is_run_woken && !is_notified)
		task_woken_unseen(m, t);
	t->is_shutdown_blind = !is_notified && !t->is_run_woken;
	begin_shutdown(m, t);
}

/* ---- a poll against a shutdown ---- */

static void begin_rival(struct model *m, struct task *t, const struct task_event *ev)
{
	t->rival = xcalloc(1, sizeof(*t->rival));
	*t->rival = (struct rival){
		.run = ev->run,
		.flags = ev->flags,
		.start = m->now,
		.loss = m->loss,
		.was_notified = t->state == TASK_NOTIFIED,
		.was_run_woken = t->is_run_woken,
		.waker = t->waker,
	};
	/* wakes from now on belong behind it */
	t->state = TASK_RUNNING;
	t->is_run_woken = false;
}

/* It found the task taken: as if it had not been. */
void overlap_forget_rival(struct model *m, struct task *t)
{
	struct rival *r = t->rival;

	if (!r)
		return;
	void_run(m, r->run);
	task_add_blocked(t, r->blocked_ns, r->max_blocked_ns);
	if (r->was_notified)
		t->state = TASK_NOTIFIED;
	if (r->was_run_woken) {
		t->is_run_woken = true;
		t->waker = r->waker;
	}
	t->rival = NULL;
	free(r);
}

/*
 * It polls the future, and has since it began. The shutdown found the task running and only marked
 * it; or it has yet to look.
 */
static void believe_rival(struct model *m, struct task *t)
{
	struct rival *r = t->rival;
	const struct frame *f = frame_at(m, r->run);
	struct run_ref shutdown = t->run;
	uint8_t shutdown_flags = t->run_flags;
	bool was_lost = t->loss != r->loss;

	task_close_run(m, t, r->start, false);
	t->loss = r->loss;
	if (t->is_shutdown_blind && !r->was_notified && !was_lost)
		task_woken(m, t, r->start, r->was_run_woken ? &r->waker : &task_self_waker);
	task_own_run(t, r->run, r->start, r->flags);
	task_add_blocked(t, f->blocked_ns, f->max_blocked_ns);
	meet_shutdown(m, t, shutdown, shutdown_flags);
	t->rival = NULL;
	free(r);
}

void overlap_poll(struct model *m, struct task *t, const struct task_event *ev)
{
	/* it was queued again since, so the poll before was one */
	if (t->rival)
		believe_rival(m, t);
	if (!takes_idle(t->run_flags)) {
		supersede(m, t);
		if (!has_shutdown(t)) {
			task_begin_run(m, t, ev->run, ev->flags);
			return;
		}
		begin_shutdown(m, t);
		t->is_shutdown_blind = false;
	}
	begin_rival(m, t, ev);
}

/* The shutdown that met a poll ends, and the poll goes on; but its own end may have been looked at
 * before. */
static void leave_to_poll(struct task *t, uint8_t flags)
{
	t->over_flags = flags & (EF_END_COMPLETE | EF_END_CANCELLED | EF_END_PANICKED);
	t->shutdown = RUN_REF_NONE;
}

/*
 * A shutdown or its rival ends. A wake since the poll began is only possible if the poll is over,
 * so it was one. Returns true when that is all there is to it.
 */
static bool decide_rival(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	bool is_notified = t->state == TASK_NOTIFIED;

	if (is_same_run(run, t->rival->run)) {
		if (!found_taken(flags) || is_notified) {
			believe_rival(m, t);
			return false;
		}
		overlap_forget_rival(m, t);
		return true;
	}
	if (!is_same_run(run, t->run))
		return false;
	if (overlap_did_take(flags) && !is_notified) {
		overlap_forget_rival(m, t);
		return false;
	}
	believe_rival(m, t);
	leave_to_poll(t, flags);
	return true;
}

/*
 * The poll that was open when the shutdown began had not yet got the task, and never will: until
 * then it was queued, and from there on the shutdown's.
 */
static void forget_poll(struct model *m, struct task *t)
{
	const struct frame *f;

	void_run(m, t->run);
	t->pub.polls -= !t->run_flags;
	/* what came before it now comes before the shutdown */
	t->turn = !t->turn;
	t->was_run = !t->is_first_run;
	task_spend(t, t->loss == t->shutdown_loss ? MODEL_SCHEDULED : MODEL_UNKNOWN,
		   t->shutdown_start - t->since);
	t->since = t->shutdown_start;
	t->loss = t->shutdown_loss;
	task_own_run(t, t->shutdown, t->shutdown_start, t->shutdown_flags);
	f = frame_at(m, t->shutdown);
	task_add_blocked(t, f->blocked_ns, f->max_blocked_ns);
	t->shutdown = RUN_REF_NONE;
	t->is_shutdown_blind = false;
}

/* The same of a poll, or of the shutdown that met it. */
static bool decide_poll(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	bool is_shutdown = is_same_run(run, t->shutdown);
	bool is_void = is_shutdown ? overlap_did_take(flags) && !(flags & EF_END_PANICKED)
				   : found_taken(flags);

	if (is_void && t->state != TASK_NOTIFIED) {
		forget_poll(m, t);
		return !is_shutdown;
	}
	if (is_shutdown)
		leave_to_poll(t, flags);
	return is_shutdown;
}

bool overlap_decide(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (t->rival) {
		if (decide_rival(m, t, run, flags))
			return true;
	} else if (!takes_idle(t->run_flags)) {
		if (decide_poll(m, t, run, flags))
			return true;
	}
	if (!is_same_run(run, t->shutdown))
		return false;
	t->shutdown = RUN_REF_NONE;
	return true;
}
