// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An allocator that lies in the program itself: its function for aligned memory, from which Tokio's
 * tasks come. Calls for memory that is not aligned like a task's do not get here: see redirect.c.
 */
#include "agent/redirect.h"

alloc_fn alloc_moved[NR_ALLOC_KINDS];

/* Always inlined: the stack begins at the frame of the function that the program called. */
static inline __attribute__((always_inline)) void *take(alloc_fn moved, uint64_t size, uint64_t how)
{
	void *p = moved(size, how);

	if (p)
		agent_spawned(p, size, __builtin_frame_address(0));
	return p;
}

static void *futrace_hook_mallocx(uint64_t size, uint64_t flags)
{
	return take(alloc_moved[ALLOC_INDEX(WIRE_ALLOC_MALLOCX)], size, flags);
}

static void *futrace_hook_malloc_aligned(uint64_t size, uint64_t align)
{
	return take(alloc_moved[ALLOC_INDEX(WIRE_ALLOC_ALIGNED)], size, align);
}

const void *const alloc_hooks[NR_ALLOC_KINDS] = {
	[ALLOC_INDEX(WIRE_ALLOC_MALLOCX)] = futrace_hook_mallocx,
	[ALLOC_INDEX(WIRE_ALLOC_ALIGNED)] = futrace_hook_malloc_aligned,
};
