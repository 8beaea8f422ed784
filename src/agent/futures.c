// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls of inner futures in the ring. As a run, each is recorded whole or lost whole: a start is
 * written only if its end will fit as well.
 */
#include "agent/ring.h"

void core_future_enter_slowly(struct core_future *f, uint32_t number)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_FUTURE_START);
	uint64_t limit, now, *at;
	struct wire_run *run;

	*f = (struct core_future){ .slot = t };
	if (!t)
		return;
	if (!has_entry(t, (uint64_t)f)) {
		count_lost(t, EV_FUTURE_START);
		return;
	}
	at = reserve(p, t, EV_FUTURE_START, EVENT_WORDS_FUTURE_START, EVENT_WORDS_FUTURE_END,
		     &limit);
	if (!at)
		return;
	run = innermost(t) + 1;
	now = ticks_now(p);
	open_run(t, run, number, (uint64_t)f);
	run->task = 0;
	run->id = f->run = run_number(now, CORE_FUTURE | CORE_RECORDED);
	at[0] = EVENT_WORD0(EV_FUTURE_START, 0, now);
	at[1] = number;
	publish(t, t->head + EVENT_WORDS_FUTURE_START, limit - EVENT_WORDS_FUTURE_END);
}

void core_future_leave_slowly(const struct core_future *f, uint32_t number, unsigned flags)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = f->slot;
	struct wire_run *run;

	if (!t || !is_current(p, t)) /* not after a fork */
		return;
	if (!is_mine(p, t, thread_pointer())) {
		struct wire_run what = { .id = f->run, .header = number };

		end_elsewhere(p, t, &what, EV_FUTURE_END, flags);
		return;
	}
	settle_runs(t);
	run = find_run(t, f->run);
	if (run)
		end_entry(p, t, run, EV_FUTURE_END, flags);
	else if (!f->run) /* of the others that are not there it was counted before */
		count_lost(t, EV_FUTURE_END);
}
