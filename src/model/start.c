// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A range of time begins: what tasks and threads did before it no longer counts, what they are
 * doing does. To the sinks they are as if first seen now.
 */
#include <string.h>

#include "model/internal.h"

void task_begin_anew(struct model *m, struct task *t)
{
	struct model_task *p = &t->pub;

	memset(p->ns, 0, sizeof(p->ns));
	memset(p->wakes, 0, sizeof(p->wakes));
	p->max_poll_ns = p->max_sched_ns = p->blocked_ns = p->max_blocked_ns = 0;
	p->polls = is_running(t) && !t->run_flags;
	p->spawn_ns = t->since = m->start;
	if (is_running(t)) /* of others it is known since when they wait (stand.c) */
		t->run_start = t->shutdown_start = m->start;
	p->spawn_exact = false;
	for (int i = 0; i < 2; i++) {
		struct turn *turn = &t->turns[i];

		turn->idle_ns = turn->sched_ns = turn->blocked_ns = 0;
		turn->is_unknown = false;
		turn->sleep_flags = 0;
	}
	if (is_told(m, t))
		tell_spawn(m, p);
}

void thread_forget_past(struct model *m)
{
	vec_each (thr, &m->threads) {
		struct model_thread *p = &thr->pub;

		p->polls = p->busy_ns = p->asleep_ns = p->sleeps = 0;
		p->blocked_ns = p->nr_blocks = p->max_blocked_ns = 0;
		thr->sleep_start = m->start;
		thr->was_seen = thr->stack.nr || thr->is_asleep;
		vec_each (f, &thr->stack) {
			f->start = m->start;
			f->blocked_ns = f->max_blocked_ns = f->nr_blocks = 0;
			f->futures_from = f->futures_to = m->start;
			/* superseded: the task's poll was over before */
			f->is_void |= !f->task;
		}
		vec_each (f, &thr->futures) {
			f->start = m->start;
			f->inner_ns = 0;
		}
	}
}
