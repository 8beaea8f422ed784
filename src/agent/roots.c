// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs of root futures in the ring. They look like those of tasks that have no ids: the address of
 * a stack frame stands for the id, and the reader gives numbers.
 */
#include "agent/ring.h"

void core_root_start(struct core_root_run *r, uint64_t key, uint16_t type, uint64_t path)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_RUN_START);
	uint64_t limit, now, *at;
	struct wire_run *run;

	*r = (struct core_root_run){ .slot = t, .task = EVENT_WORD1(key, type) };
	if (!t)
		return;
	run = current_run(t);
	r->outer = run ? run->id : 0;
	r->nr_forgotten = t->nr_forgotten;
	if (!has_entry(t, key)) {
		count_lost(t, EV_RUN_START);
		return;
	}
	at = reserve(p, t, EV_RUN_START, EVENT_WORDS_RUN_START, EVENT_WORDS_RUN_END, &limit);
	if (r->nr_forgotten != t->nr_forgotten) { /* just now */
		r->nr_forgotten = t->nr_forgotten;
		r->outer = 0;
	}
	run = innermost(t) + 1;
	now = ticks_now(p);
	open_run(t, run, key, key);
	run->task = r->task;
	run->id = r->run = run_number(now, CORE_ROOT | (at ? CORE_RECORDED : 0));
	if (!at)
		return;
	at[1] = r->task;
	at[2] = EVENT_WORD2(key, path);
	at[0] = EVENT_WORD0(EV_RUN_START, 0, now);
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

void core_root_begin(struct core_root_run *r, uint64_t key, uint16_t type, uint32_t stack,
		     uint64_t handle)
{
	struct wire_run *outer;

	core_spawn(key, 0, stack);
	if (handle)
		core_root_instance(key, type, handle, 0);
	core_root_start(r, key, type, 0);
	outer = r->run ? find_run(r->slot, r->outer) : 0;
	if (outer)
		outer->id |= CORE_HAS_ROOT;
}

/* Is its slot this thread's, and do we record? Not after a fork. */
static bool is_here(const struct core_root_run *r)
{
	const struct core_page *p = &core_page;

	return r->slot && is_current(p, r->slot) && is_mine(p, r->slot, thread_pointer());
}

bool core_root_is_forgotten(const struct core_root_run *r)
{
	return is_here(r) && r->nr_forgotten != r->slot->nr_forgotten;
}

bool core_root_is_open(const struct core_root_run *r)
{
	if (!is_here(r))
		return true;
	settle_runs(r->slot);
	return core_root_is_forgotten(r) || find_run(r->slot, r->run);
}

void core_root_end(const struct core_root_run *r, unsigned flags)
{
	struct wire_run *run;

	if (!is_here(r))
		return;
	settle_runs(r->slot);
	run = find_run(r->slot, r->run);
	if (!run && !r->run) /* else it was counted when it was forgotten */
		count_lost(r->slot, EV_RUN_END);
	if (!run)
		return;
	if (flags & EF_END_COMPLETE && run->id & CORE_ESCAPED)
		flags |= EF_END_PANICKED;
	end_run(&core_page, r->slot, run, flags);
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
