// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The life of a task as a machine of four states and one doubt. When a run ends, nobody says
 * whether the task now waits or was woken while it ran and is queued again. It is PENDING until the
 * next event: a wake means that it was idle, a run that it had re-queued itself.
 */
#include "model/internal.h"

/* Time outside of runs. */
static void spend(struct task *t, enum model_state state, uint64_t ns)
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
	spend(t, state, m->now - t->since);
	t->since = m->now;
	t->loss = m->loss;
}

static void woken(struct model *m, struct task *t, uint64_t time, const struct model_waker *w)
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

static const struct model_waker self_waker = { .cause = MODEL_BY_SELF, .thread = MODEL_NO_THREAD };

/* The wake that made the task run again although none was seen since its latest run. */
static void woken_unseen(struct model *m, struct task *t)
{
	woken(m, t, t->since, t->is_run_woken ? &t->waker : &self_waker);
}

static struct frame *frame_at(struct model *m, struct run_ref run)
{
	return &m->threads.v[run.thread].stack.v[run.depth];
}

/* The time of the open run up to `end` is busy; the run is over unless the recording is. */
static void close_run(struct model *m, struct task *t, uint64_t end, bool is_open)
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
		thread_tell_run(m, t, end, is_open);
}

/*
 * A run begins while another is open: the hook of the earlier one has not yet stamped its end,
 * although the runtime let the task go. Its end is clipped to this start, and it has no say any
 * more.
 */
static void supersede(struct model *m, struct task *t)
{
	bool was_lost = t->loss != m->loss;

	close_run(m, t, m->now, false);
	frame_at(m, t->run)->task = NULL;
	if (!t->is_notified && !was_lost)
		woken_unseen(m, t);
}

/* A shutdown that goes through all tasks, not through a queue. */
static bool takes_idle(uint8_t flags)
{
	return (flags & (EF_RUN_SHUTDOWN | EF_RUN_DROP)) == EF_RUN_SHUTDOWN;
}

/* Time between runs, decided by the run that begins now. */
static void settle_pending(struct model *m, struct task *t, uint8_t flags)
{
	/* A shutdown takes idle tasks as they are, unless it says otherwise; nobody woke them. */
	bool was_queued = t->is_run_woken || !takes_idle(flags);

	if (was_queued && t->loss == m->loss)
		woken_unseen(m, t);
	t->is_shutdown_blind = !was_queued;
	settle(m, t, was_queued ? MODEL_SCHEDULED : MODEL_IDLE);
}

static void unend(struct model *m, struct task *t)
{
	task_move(list_of(m, t), &m->live, t);
	t->pub.end = MODEL_ALIVE;
	t->state = TASK_PENDING;
	t->is_taken = t->is_late = false;
	if (is_told(m, t))
		tell_end(m, &t->pub);
}

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

static void own(struct task *t, struct run_ref run, uint64_t start, uint8_t flags)
{
	t->state = TASK_RUNNING;
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

static void begin_run(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	own(t, run, m->now, flags);
	t->is_notified = t->is_run_woken = false;
}

/* The shutdown that met a run finds the task free now. */
static void begin_shutdown(struct model *m, struct task *t)
{
	struct run_ref run = t->shutdown;

	t->shutdown = RUN_REF_NONE;
	begin_run(m, t, run, t->shutdown_flags);
}

static bool has_shutdown(const struct task *t)
{
	return t->shutdown.thread != MODEL_NO_THREAD;
}

/* A shutdown cannot drop a future that runs; if that run is in fact over, it takes its place. */
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

static void add_blocked(struct task *t, uint64_t ns, uint64_t max_ns)
{
	struct turn *turn = run_turn(t);

	t->max_run_blocked_ns = MAX(turn->blocked_ns ? t->max_run_blocked_ns : 0, max_ns);
	turn->blocked_ns += ns;
}

static void begin_rival(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	t->rival = xcalloc(1, sizeof(*t->rival));
	*t->rival = (struct rival){
		.run = run,
		.flags = flags,
		.start = m->now,
		.loss = m->loss,
		.was_notified = t->is_notified,
		.was_run_woken = t->is_run_woken,
		.waker = t->waker,
	};
	/* wakes from now on belong behind it */
	t->is_notified = t->is_run_woken = false;
}

/* It found the task taken: as if it had not been. */
static void forget_rival(struct model *m, struct task *t)
{
	struct rival *r = t->rival;
	struct frame *f = frame_at(m, r->run);

	f->task = NULL;
	f->is_void = true;
	add_blocked(t, r->blocked_ns, r->max_blocked_ns);
	t->is_notified |= r->was_notified;
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

	close_run(m, t, r->start, false);
	t->loss = r->loss;
	if (t->is_shutdown_blind && !r->was_notified && !was_lost)
		woken(m, t, r->start, r->was_run_woken ? &r->waker : &self_waker);
	own(t, r->run, r->start, r->flags);
	add_blocked(t, f->blocked_ns, f->max_blocked_ns);
	meet_shutdown(m, t, shutdown, shutdown_flags);
	t->rival = NULL;
	free(r);
}

/*
 * The poll that was open when the shutdown began had not yet got the task, and never will: until
 * then it was queued, and from there on the shutdown's.
 */
static void forget_poll(struct model *m, struct task *t)
{
	struct frame *f = frame_at(m, t->run);

	f->task = NULL;
	f->is_void = true;
	t->pub.polls -= !t->run_flags;
	/* what came before it now comes before the shutdown */
	t->turn = !t->turn;
	t->was_run = !t->is_first_run;
	spend(t, t->loss == t->shutdown_loss ? MODEL_SCHEDULED : MODEL_UNKNOWN,
	      t->shutdown_start - t->since);
	t->since = t->shutdown_start;
	t->loss = t->shutdown_loss;
	own(t, t->shutdown, t->shutdown_start, t->shutdown_flags);
	f = frame_at(m, t->shutdown);
	add_blocked(t, f->blocked_ns, f->max_blocked_ns);
	t->shutdown = RUN_REF_NONE;
	t->is_shutdown_blind = false;
}

/* A poll begins while a run is open. Returns true when it waits for the shutdown to tell which of
 * them counts. */
static bool overlap(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	/* it was queued again since, so the poll before was one */
	if (t->rival)
		believe_rival(m, t);
	if (!takes_idle(t->run_flags)) {
		supersede(m, t);
		if (!has_shutdown(t))
			return false;
		begin_shutdown(m, t);
		t->is_shutdown_blind = false;
	}
	begin_rival(m, t, run, flags);
	return true;
}

void task_run_start(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (t->state == TASK_ENDED)
		unend(m, t);
	switch (t->state) {
	case TASK_RUNNING:
		if (takes_idle(flags)) {
			meet_shutdown(m, t, run, flags);
			return;
		}
		if (overlap(m, t, run, flags))
			return;
		break;
	case TASK_SCHEDULED:
		t->is_shutdown_blind = false;
		settle(m, t, MODEL_SCHEDULED);
		break;
	case TASK_PENDING:
		settle_pending(m, t, flags);
		break;
	default:
		t->is_shutdown_blind = false;
		settle(m, t, MODEL_UNKNOWN);
		next_turn(t)->is_unknown = true; /* however short: a first sighting takes no time */
	}
	begin_run(m, t, run, flags);
}

/*
 * A dying runtime marks even complete tasks as cancelled, so that mark says nothing once such a
 * mark was seen coming. Whether a future returned or was cancelled in its last poll cannot be told
 * apart here.
 */
static enum model_end end_reason(const struct task *t, uint8_t flags)
{
	if (flags & EF_END_PANICKED)
		return MODEL_PANICKED;
	if (t->run_flags & EF_RUN_SHUTDOWN)
		return MODEL_DROPPED;
	if (t->run_flags & EF_RUN_DROP)
		return MODEL_CANCELLED;
	if (!(flags & EF_END_CANCELLED) || t->saw_finished)
		return MODEL_COMPLETED;
	return t->saw_shutdown ? MODEL_DROPPED : MODEL_CANCELLED;
}

/* Tokio clears NOTIFIED when it begins to poll, and CANCELLED is there once the shutdown took the
 * task. */
static bool found_taken(uint8_t flags)
{
	return (flags & EF_END_NOTIFIED) && (flags & EF_END_CANCELLED) &&
	       !(flags & EF_END_PANICKED);
}

/* One whose drop panicked did drop; otherwise it took a task that was queued, and NOTIFIED stays
 * for ever. */
static bool did_take(uint8_t flags)
{
	return (flags & EF_END_PANICKED) ||
	       ((flags & EF_END_COMPLETE) && (flags & EF_END_NOTIFIED));
}

static uint64_t reap_time(const struct task *t)
{
	return t->pub.end_ns + (t->is_late ? MODEL_LATE_GRACE_NS : MODEL_GRACE_NS);
}

static void end_task(struct model *m, struct task *t, uint8_t flags)
{
	if (has_shutdown(t))
		frame_at(m, t->shutdown)->task = NULL;
	t->shutdown = RUN_REF_NONE;
	if (t->life_addr)
		life_end(m, t);
	t->pub.end = end_reason(t, flags);
	t->pub.end_ns = m->now;
	t->pub.is_wanted = flags & EF_END_WANTED;
	t->state = TASK_ENDED;
	t->is_taken = takes_idle(t->run_flags) && did_take(flags);
	t->is_shutdown_blind &= !t->is_notified;
	t->is_late = t->is_taken && t->is_shutdown_blind;
	task_move(&m->live, list_of(m, t), t);
	m->reap_at = MIN(m->reap_at, reap_time(t));
	if (is_told(m, t))
		tell_end(m, &t->pub);
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
	if (is_same_run(run, t->rival->run)) {
		if (!found_taken(flags) || t->is_notified) {
			believe_rival(m, t);
			return false;
		}
		forget_rival(m, t);
		return true;
	}
	if (!is_same_run(run, t->run))
		return false;
	if (did_take(flags) && !t->is_notified) {
		forget_rival(m, t);
		return false;
	}
	believe_rival(m, t);
	leave_to_poll(t, flags);
	return true;
}

/* The same of a poll, or of the shutdown that met it. */
static bool decide_poll(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	bool is_shutdown = is_same_run(run, t->shutdown);
	bool is_void =
		is_shutdown ? did_take(flags) && !(flags & EF_END_PANICKED) : found_taken(flags);

	if (is_void && !t->is_notified) {
		forget_poll(m, t);
		return !is_shutdown;
	}
	if (is_shutdown)
		leave_to_poll(t, flags);
	return is_shutdown;
}

void task_run_end(struct model *m, struct task *t, struct run_ref run, uint8_t flags)
{
	if (unlikely(t->rival)) {
		if (decide_rival(m, t, run, flags))
			return;
	} else if (unlikely(has_shutdown(t)) && !takes_idle(t->run_flags)) {
		if (decide_poll(m, t, run, flags))
			return;
	}
	if (is_same_run(run, t->shutdown)) {
		t->shutdown = RUN_REF_NONE;
		return;
	}
	flags = t->over_flags |= flags;
	close_run(m, t, m->now, false);
	t->run = RUN_REF_NONE;
	if (flags & (EF_END_COMPLETE | EF_END_PANICKED)) {
		end_task(m, t, flags);
	} else if (has_shutdown(t)) {
		/* it was queued again, and the shutdown took it from there */
		if (t->is_run_woken && !t->is_notified)
			woken_unseen(m, t);
		t->is_shutdown_blind = !t->is_notified && !t->is_run_woken;
		begin_shutdown(m, t);
	} else {
		t->state = t->is_notified ? TASK_SCHEDULED : TASK_PENDING;
	}
}

void task_run_vanished(struct model *m, struct task *t, struct run_ref run)
{
	bool was_owner = is_same_run(run, t->run);

	if (t->rival && is_same_run(run, t->rival->run)) {
		forget_rival(m, t);
		return;
	}
	task_run_end(m, t, run, 0);
	if (was_owner && t->state != TASK_RUNNING && t->state != TASK_ENDED)
		t->state = TASK_UNKNOWN;
}

void task_wake(struct model *m, struct task *t, const struct model_waker *w, uint8_t flags)
{
	if ((flags & EF_WAKE_TRIED) && t->loss == m->loss) {
		/* Several may have found it idle at once. If it runs already, or still, by its
		 * stamps, then whether this was the one shows by what comes next. */
		if (t->state == TASK_SCHEDULED || t->state == TASK_ENDED)
			return;
		if (t->state == TASK_RUNNING)
			flags |= EF_WAKE_RUNNING;
	}
	if (flags & EF_WAKE_RUNNING) {
		/* Only the first one makes it runnable, and only if no proper transition follows.
		 */
		if ((t->state == TASK_RUNNING || t->state == TASK_PENDING) && !t->is_run_woken) {
			t->is_run_woken = true;
			t->waker = *w;
		}
		return;
	}
	if (t->state == TASK_ENDED && t->is_taken) {
		/* stamped late: this is how it came to be queued */
		if (t->is_shutdown_blind)
			woken(m, t, t->run_start, w);
		t->is_shutdown_blind = false;
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

void task_blocked(struct task *t, struct run_ref run, const struct model_sleep *sleep)
{
	uint64_t ns;

	if (t->state != TASK_RUNNING || !is_same_run(run, t->run))
		return;
	ns = sleep->end_ns - MAX(sleep->start_ns, t->run_start);
	run_turn(t)->sleep_flags |= sleep->flags;
	if (t->rival) {
		t->rival->blocked_ns += ns;
		t->rival->max_blocked_ns = MAX(t->rival->max_blocked_ns, ns);
		return;
	}
	add_blocked(t, ns, ns);
}

static void tell_and_forget(struct model *m, struct task *t)
{
	if (t->pub.has_parent && is_helper(m, t->pub.parent.type))
		t->pub.has_parent = false;
	if (is_told(m, t))
		tell_task(m, &t->pub);
	task_forget(m, t);
}

/* Returns when the next one is due. */
static uint64_t reap(struct model *m, struct task_list *list, uint64_t now)
{
	while (list->first && reap_time(list->first) < now)
		tell_and_forget(m, list->first);
	return list->first ? reap_time(list->first) : UINT64_MAX;
}

void task_reap(struct model *m)
{
	uint64_t ended = reap(m, &m->ended, m->now), late = reap(m, &m->late, m->now);

	m->reap_at = MIN(ended, late);
}

void task_finish(struct model *m)
{
	reap(m, &m->ended, UINT64_MAX);
	reap(m, &m->late, UINT64_MAX);
	while (m->live.first) {
		struct task *t = m->live.first;

		/* nobody can tell any more; a shutdown that only marks a task is over at once */
		if (t->rival)
			forget_rival(m, t);
		if (t->state == TASK_RUNNING) {
			close_run(m, t, m->now, true);
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

void task_gave_worker(struct model *m, const struct model_task *helper)
{
	struct task *t = helper->has_parent ? task_find(m, &helper->parent) : NULL;

	if (t && t->state == TASK_RUNNING && t->run.thread == helper->spawn_thread &&
	    t->run_start <= helper->spawn_ns)
		t->is_off_worker = true;
}

void task_forget_past(struct model *m)
{
	reap(m, &m->ended, UINT64_MAX);
	reap(m, &m->late, UINT64_MAX);
	m->reap_at = UINT64_MAX;
	m->is_muted = false;
	for (struct task *t = m->live.first; t; t = t->next) {
		if (t->rival)
			forget_rival(m, t);
		task_begin_anew(m, t);
	}
}
