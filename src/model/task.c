// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The life of a task: a chart of states and events. Each cell has the state that follows and what
 * is done on the way; where there is no cell, nothing happens.
 *
 * When a run ends, no event says whether the task now waits or was woken while it ran and is queued
 * again. It is PENDING until the next event: a wake means that it was idle, a run that it had
 * re-queued itself.
 *
 * Two runs of one task can be open at a time, by their stamps (task_overlap.c). Ends: task_end.c.
 */
#include "model/task_priv.h"

enum what {
	SPAWNED,       /* the spawn of a task that was just sighted was seen */
	POLLED,	       /* a run begins that took the task from a queue */
	SHUT_DOWN,     /* a run begins that took it wherever it was */
	WOKEN,	       /* a transition to runnable */
	WAKE_TRIED,    /* a wake that may have come second */
	WOKEN_RUNNING, /* a wake that found it running: no transition of its own */
	RELEASED,      /* the run ends, and the task lives on */
	TAKEN_OVER,    /* … and a shutdown that waited for that begins */
	COMPLETED,     /* … and the task with it */
	TAKEN,	       /* … and it is a shutdown that took the task from a queue */
	VANISHED,      /* the end of the run was not seen */
	CUT,	       /* the recording ends */
	NR_WHATS
};

const struct model_waker task_self_waker = { .cause = MODEL_BY_SELF, .thread = MODEL_NO_THREAD };

void task_spend(struct task *t, enum model_state state, uint64_t ns)
{
	struct turn *turn = next_turn(t);

	t->pub.ns[state] += ns;
	if (state == MODEL_IDLE)
		turn->idle_ns += ns;
	else if (state == MODEL_SCHEDULED)
		turn->sched_ns += ns;
	else if (ns)
		turn->is_unknown = true;
}

/* All time up to now belongs to `state`, unless events were lost since this task's latest one. */
static void settle(struct model *m, struct task *t, enum model_state state)
{
	if (t->loss != m->loss)
		state = MODEL_UNKNOWN;
	task_spend(t, state, m->now - t->since);
	t->since = m->now;
	t->loss = m->loss;
}

void task_woken(struct model *m, struct task *t, uint64_t time, const struct model_waker *w)
{
	struct turn *turn = next_turn(t);

	t->pub.wakes[w->cause]++;
	turn->waker = *w;
	turn->waker.time_ns = time;
	turn->is_woken = true;
	if (m->nr_wake_sinks && is_told(m, t))
		tell_wake(m, &(struct model_wake){
				     .task = &t->pub, .time_ns = time, .waker = &turn->waker });
}

void task_woken_unseen(struct model *m, struct task *t)
{
	task_woken(m, t, t->since, t->is_run_woken ? &t->waker : &task_self_waker);
}

/* ---- runs ---- */

/* The turn to come is the run's, and another begins. */
static void take_turn(struct task *t)
{
	struct turn *turn = next_turn(t), *next = run_turn(t);

	turn->blocked_ns = 0;
	turn->sleep_flags = 0;
	if (!turn->is_unknown)
		t->pub.max_sched_ns = MAX(t->pub.max_sched_ns, turn->sched_ns);
	next->idle_ns = next->sched_ns = 0;
	next->is_woken = next->is_unknown = false;
	t->turn = !t->turn;
}

void task_own_run(struct task *t, struct run_ref run, uint64_t start, uint8_t flags)
{
	t->run = run;
	t->run_start = start;
	t->run_flags = flags;
	t->over_flags = 0;
	take_turn(t);
	t->is_first_run = !t->was_run;
	t->was_run = true;
	t->is_off_worker = false;
	if (flags & EF_RUN_SHUTDOWN)
		t->saw_shutdown = true;
	if (!flags)
		t->pub.polls++;
}

void task_begin_run(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	task_own_run(t, run, m->now, flags);
	t->state = TASK_RUNNING;
	t->is_run_woken = false;
}

void task_close_run(struct model *m, struct task *t, uint64_t end, bool is_open)
{
	uint64_t ns = end - t->run_start;

	/* a run is recorded whole or lost whole: one that is open is certain */
	t->pub.ns[MODEL_RUNNING] += end - t->since;
	t->since = end;
	t->loss = m->loss;
	if (run_turn(t)->blocked_ns) {
		t->pub.blocked_ns += run_turn(t)->blocked_ns;
		t->pub.max_blocked_ns = MAX(t->pub.max_blocked_ns, t->max_run_blocked_ns);
	}
	if (!t->run_flags && ns > t->pub.max_poll_ns)
		t->pub.max_poll_ns = ns;
	if (m->nr_run_sinks && is_told(m, t))
		tell_task_run(m, t, end, is_open);
}

void task_add_blocked(struct task *t, uint64_t ns, uint64_t max_ns)
{
	struct turn *turn = run_turn(t);

	t->max_run_blocked_ns = MAX(turn->blocked_ns ? t->max_run_blocked_ns : 0, max_ns);
	turn->blocked_ns += ns;
}

/* ---- what happens on the way ---- */

static void run_scheduled(struct model *m, struct task *t, const struct task_event *ev)
{
	t->is_shutdown_blind = false;
	settle(m, t, MODEL_SCHEDULED);
	task_begin_run(m, t, ev->run, ev->flags);
}

/* The run shows what came before it: a poll was queued for. */
static void run_pending(struct model *m, struct task *t, const struct task_event *ev)
{
	/* A shutdown takes idle tasks as they are, unless it says otherwise; none woke them. */
	bool was_queued = t->is_run_woken || !takes_idle(ev->flags);

	if (was_queued && t->loss == m->loss)
		task_woken_unseen(m, t);
	t->is_shutdown_blind = !was_queued;
	settle(m, t, was_queued ? MODEL_SCHEDULED : MODEL_IDLE);
	task_begin_run(m, t, ev->run, ev->flags);
}

static void run_unknown(struct model *m, struct task *t, const struct task_event *ev)
{
	t->is_shutdown_blind = false;
	settle(m, t, MODEL_UNKNOWN);
	next_turn(t)->is_unknown = true; /* however short: a first sighting takes no time */
	task_begin_run(m, t, ev->run, ev->flags);
}

static void run_revived(struct model *m, struct task *t, const struct task_event *ev)
{
	task_revive(m, t);
	run_pending(m, t, ev);
}

static void wake_as(struct model *m, struct task *t, const struct task_event *ev,
		    enum model_state until_now)
{
	t->is_run_woken = false;
	task_woken(m, t, m->now, ev->waker);
	settle(m, t, until_now);
}

static void wake_idle(struct model *m, struct task *t, const struct task_event *ev)
{
	wake_as(m, t, ev, MODEL_IDLE);
}

static void wake_again(struct model *m, struct task *t, const struct task_event *ev)
{
	wake_as(m, t, ev, MODEL_SCHEDULED);
}

static void wake_unknown(struct model *m, struct task *t, const struct task_event *ev)
{
	wake_as(m, t, ev, MODEL_UNKNOWN);
}

static void wake_revived(struct model *m, struct task *t, const struct task_event *ev)
{
	task_revive(m, t);
	wake_idle(m, t, ev);
}

/* The runtime let it go already, the end stamp is late. */
static void wake_running(struct model *m, struct task *t, const struct task_event *ev)
{
	t->is_run_woken = false;
	task_woken(m, t, m->now, ev->waker);
}

/* Stamped late: this is how it came to be queued. */
static void wake_taken(struct model *m, struct task *t, const struct task_event *ev)
{
	if (t->is_shutdown_blind)
		task_woken(m, t, t->run_start, ev->waker);
	t->is_shutdown_blind = false;
}

/* Only the first one makes it runnable, and only if no proper transition follows. */
static void note_waker(struct model *m, struct task *t, const struct task_event *ev)
{
	(void)m;
	if (t->is_run_woken)
		return;
	t->is_run_woken = true;
	t->waker = *ev->waker;
}

static void cut_run(struct model *m, struct task *t, const struct task_event *ev)
{
	(void)ev;
	task_close_run(m, t, m->now, true);
}

static void cut_pending(struct model *m, struct task *t, const struct task_event *ev)
{
	(void)ev;
	if (t->is_run_woken && t->loss == m->loss)
		task_woken_unseen(m, t);
	settle(m, t, t->is_run_woken ? MODEL_SCHEDULED : MODEL_IDLE);
}

static void cut_scheduled(struct model *m, struct task *t, const struct task_event *ev)
{
	(void)ev;
	settle(m, t, MODEL_SCHEDULED);
}

static void cut_unknown(struct model *m, struct task *t, const struct task_event *ev)
{
	(void)ev;
	settle(m, t, MODEL_UNKNOWN);
}

/* ---- the chart ---- */

struct step {
	enum task_state next; /* 0: stays as it is */
	void (*effect)(struct model *m, struct task *t, const struct task_event *ev);
};

static const struct step chart[TASK_NR_STATES][NR_WHATS] = {
	[TASK_UNKNOWN] = {
		[SPAWNED]	= { TASK_SCHEDULED },
		[POLLED]	= { TASK_RUNNING, run_unknown },
		[SHUT_DOWN]	= { TASK_RUNNING, run_unknown },
		[WOKEN]		= { TASK_SCHEDULED, wake_unknown },
		[WAKE_TRIED]	= { TASK_SCHEDULED, wake_unknown },
		[CUT]		= { 0, cut_unknown },
	},
	[TASK_PENDING] = {
		[POLLED]	= { TASK_RUNNING, run_pending },
		[SHUT_DOWN]	= { TASK_RUNNING, run_pending },
		[WOKEN]		= { TASK_SCHEDULED, wake_idle },
		[WAKE_TRIED]	= { TASK_SCHEDULED, wake_idle },
		[WOKEN_RUNNING] = { 0, note_waker },
		[CUT]		= { 0, cut_pending },
	},
	[TASK_SCHEDULED] = {
		[POLLED]	= { TASK_RUNNING, run_scheduled },
		[SHUT_DOWN]	= { TASK_RUNNING, run_scheduled },
		[WOKEN]		= { 0, wake_again },
		[CUT]		= { 0, cut_scheduled },
	},
	[TASK_RUNNING] = {
		[POLLED]	= { TASK_RUNNING, overlap_poll },
		[SHUT_DOWN]	= { 0, overlap_shutdown },
		[WOKEN]		= { TASK_NOTIFIED, wake_running },
		[WAKE_TRIED]	= { 0, note_waker },
		[WOKEN_RUNNING] = { 0, note_waker },
		[RELEASED]	= { TASK_PENDING },
		[TAKEN_OVER]	= { TASK_RUNNING, overlap_take_over },
		[COMPLETED]	= { TASK_ENDED, task_end },
		[TAKEN]		= { TASK_TAKEN, task_end },
		[VANISHED]	= { TASK_UNKNOWN },
		[CUT]		= { 0, cut_run },
	},
	[TASK_NOTIFIED] = { /* running, and a wake came that belongs behind the run */
		[POLLED]	= { TASK_RUNNING, overlap_poll },
		[SHUT_DOWN]	= { 0, overlap_shutdown },
		[WOKEN]		= { 0, wake_running },
		[WAKE_TRIED]	= { 0, note_waker },
		[WOKEN_RUNNING] = { 0, note_waker },
		[RELEASED]	= { TASK_SCHEDULED },
		[TAKEN_OVER]	= { TASK_RUNNING, overlap_take_over },
		[COMPLETED]	= { TASK_ENDED, task_end },
		[TAKEN]		= { TASK_TAKEN, task_end },
		[VANISHED]	= { TASK_UNKNOWN },
		[CUT]		= { 0, cut_run },
	},
	[TASK_ENDED] = {
		[POLLED]	= { TASK_RUNNING, run_revived },
		[SHUT_DOWN]	= { TASK_RUNNING, run_revived },
		[WOKEN]		= { TASK_SCHEDULED, wake_revived },
	},
	[TASK_TAKEN] = { /* ended by a shutdown that took it from a queue: no wake revives it */
		[POLLED]	= { TASK_RUNNING, run_revived },
		[SHUT_DOWN]	= { TASK_RUNNING, run_revived },
		[WOKEN]		= { 0, wake_taken },
	},
};

static void happen(struct model *m, struct task *t, enum what what, const struct task_event *ev)
{
	const struct step *step = &chart[t->state][what];

	if (step->effect)
		step->effect(m, t, ev);
	if (step->next)
		t->state = step->next;
}

void task_spawned(struct model *m, struct task *t)
{
	happen(m, t, SPAWNED, NULL);
}

void task_run_start(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	happen(m, t, takes_idle(flags) ? SHUT_DOWN : POLLED,
	       &(struct task_event){ .run = run, .flags = flags });
}

/* `released`: how the run ends if the task neither ends with it nor is taken over. */
static void end_run(struct model *m, struct task *t, struct run_ref run, uint8_t flags,
		    enum what released)
{
	enum what what = released;

	if (unlikely(t->rival || has_shutdown(t)) && overlap_decide(m, t, run, flags))
		return;
	flags = t->over_flags |= flags;
	task_close_run(m, t, m->now, false);
	t->run = RUN_REF_NONE;
	if (flags & (EF_END_COMPLETE | EF_END_PANICKED))
		what = takes_idle(t->run_flags) && overlap_did_take(flags) ? TAKEN : COMPLETED;
	else if (has_shutdown(t))
		what = TAKEN_OVER;
	happen(m, t, what, &(struct task_event){ .run = run, .flags = flags });
}

void task_run_end(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	end_run(m, t, run, flags, RELEASED);
}

void task_run_vanished(struct model *m, struct task *t, struct run_ref run)
{
	if (t->rival && is_same_run(run, t->rival->run))
		overlap_forget_rival(m, t);
	else
		end_run(m, t, run, 0, is_same_run(run, t->run) ? VANISHED : RELEASED);
}

void task_wake(struct model *m, struct task *t, const struct model_waker *w, uint8_t flags)
{
	enum what what = WOKEN;

	/* Several may have found it idle at once. If it runs already, or still, by its stamps, then
	 * whether this was the one shows by what comes next. */
	if (flags & EF_WAKE_TRIED && t->loss == m->loss)
		what = WAKE_TRIED;
	if (flags & EF_WAKE_RUNNING)
		what = WOKEN_RUNNING;
	happen(m, t, what, &(struct task_event){ .waker = w });
}

void task_cut(struct model *m, struct task *t)
{
	happen(m, t, CUT, NULL);
}

void task_blocked(struct task *t, struct run_ref run, const struct model_sleep *sleep)
{
	uint64_t ns;

	if (!is_running(t) || !is_same_run(run, t->run))
		return;
	ns = sleep->end_ns - MAX(sleep->start_ns, t->run_start);
	run_turn(t)->sleep_flags |= sleep->flags;
	if (t->rival) {
		t->rival->blocked_ns += ns;
		t->rival->max_blocked_ns = MAX(t->rival->max_blocked_ns, ns);
		return;
	}
	task_add_blocked(t, ns, ns);
}

void task_gave_worker(struct model *m, const struct model_task *helper)
{
	struct task *t = helper->has_parent ? task_find(m, &helper->parent) : NULL;

	if (t && is_running(t) && t->run.thread == helper->spawn_thread &&
	    t->run_start <= helper->spawn_ns)
		t->is_off_worker = true;
}
