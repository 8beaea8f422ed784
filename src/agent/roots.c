// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs of root futures in the ring. They look like those of tasks that have no ids: the address of
 * a stack frame stands for the id, and the reader gives numbers.
 */
#include "agent/ring.h"

void core_root_start(struct core_run *run, uint64_t key, uint16_t type, uint64_t path)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_RUN_START);
	uint64_t limit, *at;

	*run = (struct core_run){ .header = key, .bits = CORE_ROOT, .state = (uint64_t)t };
	if (!t)
		return;
	tell_hole(p, t);
	at = reserve(p, t, EV_RUN_START, EVENT_WORDS_RUN_START, EVENT_WORDS_RUN_END, &limit);
	run->outer = (struct core_run *)t->run;
	t->run = (uint64_t)run;
	if (!at)
		return;
	run->bits |= CORE_RECORDED;
	at[1] = EVENT_WORD1(key, type);
	at[2] = EVENT_WORD2(key, path);
	at[0] = EVENT_WORD0(EV_RUN_START, 0, ticks_now(p));
	publish(t, t->head + EVENT_WORDS_RUN_START, limit - EVENT_WORDS_RUN_END);
}

void core_root_instance(uint64_t key, uint16_t type, uint64_t handle, unsigned flags)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_INSTANCE);
	uint64_t limit, *at;

	at = t ? reserve(p, t, EV_INSTANCE, EVENT_WORDS_INSTANCE, 0, &limit) : 0;
	if (!at)
		return;
	at[0] = EVENT_WORD0(EV_INSTANCE, flags, ticks_now(p));
	at[1] = EVENT_WORD1(key, type);
	at[2] = handle;
	at[3] = 0;
	t->instance = ~UINT64_C(0);
	publish(t, t->head + EVENT_WORDS_INSTANCE, limit);
}

void core_root_begin(struct core_run *run, uint64_t key, uint16_t type, uint32_t stack,
		     uint64_t handle)
{
	core_spawn(key, 0, stack);
	if (handle)
		core_root_instance(key, type, handle, 0);
	core_root_start(run, key, type, 0);
	if (run->outer && !core_page.is_roaming)
		run->outer->bits |= CORE_HAS_ROOT;
}

/* It is over, although a run inside of it is not: an end was not seen. */
static void skip(struct wire_thread *t, const struct core_run *run)
{
	struct core_run *inner = (struct core_run *)t->run;

	while (inner && inner->outer != run)
		inner = inner->outer;
	if (!inner)
		return;
	inner->outer = run->outer;
	count_lost(t, EV_RUN_END);
}

void core_root_end(struct core_run *run, unsigned flags)
{
	struct wire_thread *t = (struct wire_thread *)run->state;
	struct core_page *p = &core_page;

	if (!t || !is_current(p, t) || run->bits & CORE_OVER) /* not after a fork */
		return;
	if (!is_mine(p, t, thread_pointer())) {
		run_roamed(p, t, EV_RUN_END);
		return;
	}
	if (t->run != (uint64_t)run && !p->is_roaming) {
		skip(t, run);
		return;
	}
	if (flags & EF_END_COMPLETE && run->bits & CORE_ESCAPED)
		flags |= EF_END_PANICKED;
	end_run(p, t, run, flags);
}

void core_root_wake(uint64_t key_and_type, unsigned flags)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_WAKE);

	if (t)
		put2(p, t, EV_WAKE, flags, key_and_type);
}

void core_root_unseen(unsigned kind)
{
	struct wire_thread *t = self(&core_page, kind);

	if (!t)
		return;
	count_lost(t, kind);
	tell_lost_next(t);
}
