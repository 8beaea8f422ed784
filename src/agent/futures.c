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
	uint64_t limit, *at;

	*f = (struct core_future){ .slot = t };
	if (!t)
		return;
	tell_hole(p, t);
	f->nr_outer = t->nr_futures;
	at = reserve(p, t, EV_FUTURE_START, EVENT_WORDS_FUTURE_START, EVENT_WORDS_FUTURE_END,
		     &limit);
	if (!at)
		return;
	f->is_recorded = true;
	t->nr_futures = f->nr_outer + 1;
	at[0] = EVENT_WORD0(EV_FUTURE_START, 0, ticks_now(p));
	at[1] = number;
	publish(t, t->head + EVENT_WORDS_FUTURE_START, limit - EVENT_WORDS_FUTURE_END);
}

/* No room was kept for it: whose ends are to come is not known where runs roam. */
static void end_roaming(struct core_page *p, struct wire_thread *t, unsigned flags)
{
	uint64_t nr_lost = t->lost[EV_FUTURE_END];

	put1(p, t, EV_FUTURE_END, flags);
	if (t->lost[EV_FUTURE_END] != nr_lost)
		__atomic_store_n(&t->has_hole, 1, __ATOMIC_RELEASE);
}

void core_future_leave_slowly(struct core_future *f, unsigned flags)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = f->slot;

	if (!t || !is_current(p, t)) /* not after a fork */
		return;
	if (!is_mine(p, t, thread_pointer()))
		run_roamed(p, t, EV_FUTURE_END);
	else if (!f->is_recorded)
		count_lost(t, EV_FUTURE_END);
	else if (p->is_roaming)
		end_roaming(p, t, flags);
	else
		write_future_end(t, f, flags, ticks_now(p));
}
