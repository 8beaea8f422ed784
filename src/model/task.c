// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The life of a task as a machine of four states and one doubt. When a run ends, nobody says whether the task now
 * waits or was woken while it ran and is queued again. It is PENDING until the next event: a wake means
 * that it was idle, a run that it had re-queued itself.
 */
#include "model/internal.h"

/* All time up to now belongs to `state`, unless events were lost since this task's latest one. */
static void settle(struct model *m, struct task *t, enum model_state state)
{
	/* A run is recorded whole or lost whole: one that is open is certain. */
	if (t->loss != m->loss && state != MODEL_RUNNING)
		state = MODEL_UNKNOWN;
	t->pub.ns[state] += m->now - t->since;
	t->since = m->now;
	t->loss = m->loss;
}

static void woken(struct model *m, struct task *t, uint64_t time, const struct waker *w)
{
	t->pub.wakes[w->cause]++;
	if (m->wants_wakes && !is_helper(m, t->pub.key.type))
		tell_wake(m, &(struct model_wake){ .task = &t->pub,
						   .time_ns = time,
						   .cause = w->cause,
						   .thread = w->thread,
						   .waker = w->key,
						   .has_waker = w->has_key });
}

/* The wake that made the task run again although none was seen since its latest run. */
static void woken_unseen(struct model *m, struct task *t)
{
	static const struct waker self = { .cause = MODEL_BY_SELF, .thread = MODEL_NO_THREAD };

	woken(m, t, t->since, t->is_run_woken ? &t->waker : &self);
}

static struct frame *frame_at(struct model *m, struct run_ref run)
{
	return &m->threads.v[run.thread].stack.v[run.depth];
}

/* The time of the open run up to now is busy; the run is over unless the recording is. */
static void close_run(struct model *m, struct task *t, bool is_open)
{
	const struct frame *f = frame_at(m, t->run);
	uint64_t ns = m->now - t->run_start;

	settle(m, t, MODEL_RUNNING);
	if (!t->run_flags && ns > t->pub.max_poll_ns)
		t->pub.max_poll_ns = ns;
	if (m->wants_runs && !is_helper(m, t->pub.key.type))
		tell_run(m, &(struct model_run){ .task = &t->pub,
						 .start_ns = t->run_start,
						 .end_ns = m->now,
						 .blocked_ns = MIN(f->blocked_ns, ns),
						 .thread = t->run.thread,
						 .flags = t->run_flags,
						 .is_open = is_open });
}

/*
 * A run begins while another is open: the hook of the earlier one has not yet stamped its end, although the runtime
 * let the task go. Its end is clipped to this start, and it has no say any more.
 */
static void supersede(struct model *m, struct task *t)
{
	bool was_lost = t->loss != m->loss;

	close_run(m, t, false);
	frame_at(m, t->run)->task = NULL;
	if (!t->is_notified && !was_lost)
		woken_unseen(m, t);
}

/* Time between runs, decided by the run that begins now. */
static void settle_pending(struct model *m, struct task *t, uint8_t flags)
{
	/* A shutdown takes idle tasks as they are; nobody woke them. */
	bool was_queued = t->is_run_woken || !(flags & EF_RUN_SHUTDOWN);

	if (was_queued && t->loss == m->loss)
		woken_unseen(m, t);
	settle(m, t, was_queued ? MODEL_SCHEDULED : MODEL_IDLE);
}

static void unend(struct model *m, struct task *t)
{
	task_move(&m->ended, &m->live, t);
	t->pub.end = MODEL_ALIVE;
	t->state = TASK_PENDING;
}

static void begin_run(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	t->state = TASK_RUNNING;
	t->run = run;
	t->run_start = m->now;
	t->run_flags = flags;
	t->is_notified = t->is_run_woken = false;
	if (!flags)
		t->pub.polls++;
}

void task_run_start(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (t->state == TASK_ENDED)
		unend(m, t);
	switch (t->state) {
	case TASK_RUNNING:
		if (flags & EF_RUN_SHUTDOWN) {
			/* It cannot drop a future that runs; if that run is in fact over, it takes its place. */
			if (t->shutdown.thread != MODEL_NO_THREAD)
				frame_at(m, t->shutdown)->task = NULL;
			t->shutdown = run;
			t->shutdown_flags = flags;
			t->saw_shutdown = true;
			return;
		}
		supersede(m, t);
		break;
	case TASK_SCHEDULED:
		settle(m, t, MODEL_SCHEDULED);
		break;
	case TASK_PENDING:
		settle_pending(m, t, flags);
		break;
	default:
		settle(m, t, MODEL_UNKNOWN);
	}
	begin_run(m, t, run, flags);
}

/*
 * A dying runtime marks even complete tasks as cancelled, so that mark says nothing once such a mark was seen
 * coming. Whether a future returned or was cancelled in its last poll cannot be told apart here.
 */
static enum model_end end_reason(const struct task *t, uint8_t flags)
{
	if (flags & EF_END_PANICKED)
		return MODEL_PANICKED;
	if (t->run_flags & EF_RUN_DROP)
		return MODEL_CANCELLED;
	if (t->run_flags & EF_RUN_SHUTDOWN)
		return MODEL_DROPPED;
	if (!(flags & EF_END_CANCELLED) || t->saw_finished)
		return MODEL_COMPLETED;
	return t->saw_shutdown ? MODEL_DROPPED : MODEL_CANCELLED;
}

static void end_task(struct model *m, struct task *t, uint8_t flags)
{
	if (t->shutdown.thread != MODEL_NO_THREAD)
		frame_at(m, t->shutdown)->task = NULL;
	t->shutdown = RUN_REF_NONE;
	t->pub.end = end_reason(t, flags);
	t->pub.end_ns = m->now;
	t->pub.is_wanted = flags & EF_END_WANTED;
	t->state = TASK_ENDED;
	task_move(&m->live, &m->ended, t);
	m->reap_at = MIN(m->reap_at, m->now + MODEL_GRACE_NS);
}

void task_run_end(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (is_same_run(run, t->shutdown)) {
		t->shutdown = RUN_REF_NONE;
		return;
	}
	close_run(m, t, false);
	t->run = RUN_REF_NONE;
	if (flags & (EF_END_COMPLETE | EF_END_PANICKED)) {
		end_task(m, t, flags);
	} else if (t->shutdown.thread != MODEL_NO_THREAD) {
		run = t->shutdown;
		t->shutdown = RUN_REF_NONE;
		begin_run(m, t, run, t->shutdown_flags);
	} else {
		t->state = t->is_notified ? TASK_SCHEDULED : TASK_PENDING;
	}
}

void task_run_vanished(struct model *m, struct task *t, struct run_ref run)
{
	bool was_owner = is_same_run(run, t->run);

	task_run_end(m, t, run, 0);
	if (was_owner && t->state != TASK_RUNNING)
		t->state = TASK_UNKNOWN;
}

void task_wake(struct model *m, struct task *t, const struct waker *w, uint8_t flags)
{
	if (flags & EF_WAKE_RUNNING) {
		/* Only the first one makes it runnable, and only if no proper transition follows. */
		if ((t->state == TASK_RUNNING || t->state == TASK_PENDING) && !t->is_run_woken) {
			t->is_run_woken = true;
			t->waker = *w;
		}
		return;
	}
	if (t->state == TASK_ENDED)
		unend(m, t);
	t->is_run_woken = false;
	woken(m, t, m->now, w);
	if (t->state == TASK_RUNNING) {
		/* The runtime let it go already, the end stamp is late. */
		t->is_notified = true;
		return;
	}
	settle(m, t,
	       t->state == TASK_PENDING	    ? MODEL_IDLE
	       : t->state == TASK_SCHEDULED ? MODEL_SCHEDULED
					    : MODEL_UNKNOWN);
	t->state = TASK_SCHEDULED;
}

void task_blocked(struct task *t, struct run_ref run, uint64_t from, uint64_t to)
{
	uint64_t ns;

	if (t->state != TASK_RUNNING || !is_same_run(run, t->run))
		return;
	ns = to - MAX(from, t->run_start);
	t->pub.blocked_ns += ns;
	t->pub.max_blocked_ns = MAX(t->pub.max_blocked_ns, ns);
}

static void tell_and_forget(struct model *m, struct task *t)
{
	if (t->pub.has_parent && is_helper(m, t->pub.parent.type))
		t->pub.has_parent = false;
	if (!is_helper(m, t->pub.key.type))
		tell_task(m, &t->pub);
	task_forget(m, t);
}

void task_reap(struct model *m, uint64_t before)
{
	while (m->ended.first && m->ended.first->pub.end_ns < before)
		tell_and_forget(m, m->ended.first);
	m->reap_at = m->ended.first ? m->ended.first->pub.end_ns + MODEL_GRACE_NS : UINT64_MAX;
}

void task_finish(struct model *m)
{
	task_reap(m, UINT64_MAX);
	while (m->live.first) {
		struct task *t = m->live.first;

		if (t->state == TASK_RUNNING) {
			close_run(m, t, true);
		} else if (t->state == TASK_PENDING) {
			if (t->is_run_woken && t->loss == m->loss)
				woken_unseen(m, t);
			settle(m, t, t->is_run_woken ? MODEL_SCHEDULED : MODEL_IDLE);
		} else {
			settle(m, t, t->state == TASK_SCHEDULED ? MODEL_SCHEDULED : MODEL_UNKNOWN);
		}
		t->pub.end_ns = m->now;
		tell_and_forget(m, t);
	}
}
