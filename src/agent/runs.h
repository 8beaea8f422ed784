// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The table of a thread's open runs (wire_run), beyond what fast.h does with its end. Part of the
 * core, included by ring.h alone. Only the thread itself changes its table.
 *
 * As a rule the run that began last ends first. It need not: a program may switch stacks inside a
 * poll, jump out of one, or end a poll on another thread. A run that never ends keeps its entry
 * until there are too many of these.
 */
#ifndef AGENT_RUNS_H
#define AGENT_RUNS_H

#include "agent/fast.h"

#define NOINLINE  __attribute__((noinline, cold, unused))

#define MAX_STACK (UINT64_C(8) << 20) /* frames that are further apart are on different stacks */

/* The entry that stands for none. */
static inline struct wire_run *no_run(const struct wire_thread *t)
{
	return (struct wire_run *)(t->top & ~(uint64_t)(WIRE_RUNS_BYTES - 1));
}

static uint64_t *left_of(const struct core_page *p, const struct wire_thread *t)
{
	return p->region->left[t - p->region->threads];
}

static inline void init_runs(struct core_page *p, struct wire_thread *t)
{
	uint64_t first = (uint64_t)p->region->runs + WIRE_RUNS_BYTES - 1;

	t->top = (first & ~(uint64_t)(WIRE_RUNS_BYTES - 1)) +
		 (t - p->region->threads) * WIRE_RUNS_BYTES;
	no_run(t)->id = CORE_UNTOLD; /* no hook has this number, and 0 is "not in the table" */
	t->nr_forgotten = 0;
	for (unsigned i = 0; t->has_left && i < WIRE_MAX_LEFT; i++)
		__atomic_store_n(&left_of(p, t)[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->has_left, 0, __ATOMIC_RELAXED);
}

/* NULL: the table does not know it. */
static struct wire_run *find_run(const struct wire_thread *t, uint64_t id)
{
	for (struct wire_run *run = innermost(t); id && run > no_run(t); run--)
		if (core_is_same_run(run->id, id))
			return run;
	return 0;
}

static void remove_run(struct wire_thread *t, struct wire_run *run)
{
	const struct wire_run *top = innermost(t);

	for (; run < top; run++)
		*run = run[1];
	barrier();
	t->top -= sizeof(*run);
}

/* Is one above it of the same sort, run or future, whose start is in the ring? */
static bool is_overlapped(const struct wire_thread *t, const struct wire_run *run)
{
	for (const struct wire_run *other = innermost(t); other > run; other--)
		if (other->id & CORE_RECORDED && !((other->id ^ run->id) & CORE_FUTURE))
			return true;
	return false;
}

static uint64_t nr_recorded(const struct wire_thread *t)
{
	uint64_t nr = 0;

	for (const struct wire_run *run = innermost(t); run > no_run(t); run--)
		nr += run->id & CORE_RECORDED;
	return nr;
}

/* Were all of them called one by another, down to that frame, as far as can be told? */
static bool are_nested(const struct wire_thread *t, uint64_t frame)
{
	for (const struct wire_run *run = innermost(t); run > no_run(t); run--) {
		if (run->frame <= frame || run->frame - frame > MAX_STACK)
			return false;
		frame = run->frame;
	}
	return true;
}

/* Leaves word that a run of `began` ended on this thread. If there is no room it is not removed,
 * no more: that takes more runs than a table has, and all of them left elsewhere. */
static void post_left(const struct core_page *p, struct wire_thread *began, uint64_t id)
{
	uint64_t *left = left_of(p, began);

	for (unsigned i = 0; i < WIRE_MAX_LEFT; i++) {
		uint64_t free = 0;

		if (!__atomic_compare_exchange_n(&left[i], &free, id, false, __ATOMIC_RELEASE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&began->has_left, 1, __ATOMIC_RELEASE);
		return;
	}
}

static NOINLINE bool remove_all_left(const struct core_page *p, struct wire_thread *t)
{
	uint64_t *left = left_of(p, t);
	bool is_told = true;

	/* First: what comes from now on sets it again. At worst all are empty by then. */
	__atomic_exchange_n(&t->has_left, 0, __ATOMIC_ACQ_REL);
	for (unsigned i = 0; i < WIRE_MAX_LEFT; i++) {
		struct wire_run *run;
		uint64_t id;

		if (!__atomic_load_n(&left[i], __ATOMIC_RELAXED))
			continue;
		id = __atomic_exchange_n(&left[i], 0, __ATOMIC_ACQUIRE);
		run = find_run(t, id);
		if (!run)
			continue;
		remove_run(t, run);
		is_told &= !(id & CORE_UNTOLD);
	}
	return is_told;
}

/* Removes what ended on other threads. False: the end of one of these is in no ring. */
static inline bool remove_left(const struct core_page *p, struct wire_thread *t)
{
	return likely(!__atomic_load_n(&t->has_left, __ATOMIC_ACQUIRE)) || remove_all_left(p, t);
}

#endif
