// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The end of a task: the reason, the grace period in which a late stamp may still revive it, and
 * the last word to the sinks.
 */
#include "model/task_priv.h"

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

static struct task_list *ended_list(struct model *m, const struct task *t)
{
	return t->is_late ? &m->late : &m->ended;
}

static uint64_t reap_time(const struct task *t)
{
	return t->pub.end_ns + (t->is_late ? MODEL_LATE_GRACE_NS : MODEL_GRACE_NS);
}

void task_end(struct model *m, struct task *t, const struct task_event *ev)
{
	bool is_taken = takes_idle(t->run_flags) && overlap_did_take(ev->flags);

	if (has_shutdown(t))
		frame_at(m, t->shutdown)->task = NULL;
	t->shutdown = RUN_REF_NONE;
	if (t->life_addr)
		life_end(m, t);
	t->pub.end = end_reason(t, ev->flags);
	t->pub.end_ns = m->now;
	t->pub.is_wanted = ev->flags & EF_END_WANTED && !t->pub.is_let_go;
	t->is_shutdown_blind &= t->state != TASK_NOTIFIED;
	t->is_late = is_taken && t->is_shutdown_blind;
	task_move(&m->live, ended_list(m, t), t);
	m->reap_at = MIN(m->reap_at, reap_time(t));
	if (is_told(m, t))
		tell_end(m, &t->pub);
}

void task_revive(struct model *m, struct task *t)
{
	task_move(ended_list(m, t), &m->live, t);
	t->pub.end = MODEL_ALIVE;
	t->is_late = false;
	if (is_told(m, t))
		tell_end(m, &t->pub);
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

		/* a shutdown that only marks a task is over at once */
		overlap_forget_rival(m, t);
		task_cut(m, t);
		t->pub.end_ns = m->now;
		tell_and_forget(m, t);
	}
}

void task_forget_past(struct model *m)
{
	reap(m, &m->ended, UINT64_MAX);
	reap(m, &m->late, UINT64_MAX);
	m->reap_at = UINT64_MAX;
	m->is_muted = false;
	for (struct task *t = m->live.first; t; t = t->next) {
		overlap_forget_rival(m, t);
		task_begin_anew(m, t);
	}
}
