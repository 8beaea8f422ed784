// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions that stand in hooked slots. Each passes on every argument register: what a slot
 * takes beyond the header is the runtime's affair. A hook finds the function it replaced through
 * the header's own table pointer.
 *
 * Built with -fexceptions: a panic may unwind through a run, and the run must end all the same.
 */
#include "agent/agent.h"

static void leave(struct core_run *run)
{
	if (core_run_leave(run))
		((void (*)(uint64_t))run->table->dealloc)(run->header);
}

void hook_poll(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct core_run run __attribute__((cleanup(leave)));

	core_run_enter(&run, header, CORE_POLL);
	((hook_fn)run.table->poll)(header, b, c, d, e, f);
}

void hook_shutdown(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct core_run run __attribute__((cleanup(leave)));

	core_run_enter(&run, header, CORE_SHUTDOWN);
	((hook_fn)run.table->shutdown)(header, b, c, d, e, f);
}

void hook_schedule(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	hook_fn schedule = (hook_fn)core_schedule(header);

	schedule(header, b, c, d, e, f);
}

/* A waker's data pointer is the task, but the task's table says nothing of the waker's: one hook a
 * table. */
#define WAKER(i)                                                                              \
	static void wake_##i(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, \
			     uint64_t f)                                                      \
	{                                                                                     \
		if (__builtin_expect(core_is_running(header), 0))                             \
			core_wake_running(header);                                            \
		((hook_fn)core.wakers[i].wake)(header, b, c, d, e, f);                        \
	}                                                                                     \
	static void wake_by_ref_##i(uint64_t header, uint64_t b, uint64_t c, uint64_t d,      \
				    uint64_t e, uint64_t f)                                   \
	{                                                                                     \
		if (__builtin_expect(core_is_running(header), 0))                             \
			core_wake_running(header);                                            \
		((hook_fn)core.wakers[i].wake_by_ref)(header, b, c, d, e, f);                 \
	}

WAKER(0)
WAKER(1)
WAKER(2)
WAKER(3)

const hook_fn hook_wake[CORE_MAX_WAKERS] = { wake_0, wake_1, wake_2, wake_3 };
const hook_fn hook_wake_by_ref[CORE_MAX_WAKERS] = { wake_by_ref_0, wake_by_ref_1, wake_by_ref_2,
						    wake_by_ref_3 };
