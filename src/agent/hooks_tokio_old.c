// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What Tokio before 1.23 needs besides hooks.c. It has no slot that every wake goes through, but a
 * waker table for each type of task, and an abort slot that aborts, and nothing else, go through.
 *
 * Neither a waker nor the task's table leads to the waker's table, so each has its own pair of
 * hooks. These are as short as can be and tell their number to a common function, as a second
 * argument: a waker's functions take one only.
 */
#include "agent/agent.h"

#define STR(x)	 #x
#define VALUE(x) STR(x)

__asm__(".text\n"
	".p2align 4\n"
	".globl hook_type_wakers\n"
	".hidden hook_type_wakers\n"
	"hook_type_wakers:\n"
	".set number, 0\n"
	".rept 2 * " VALUE(CORE_MAX_TYPE_WAKERS) "\n"
						 "	.p2align 4\n"
						 "	mov	$number, %esi\n"
						 "	jmp	futrace_hook_type_waker\n"
						 "	.set number, number + 1\n"
						 ".endr\n"
						 ".p2align 4\n");

void futrace_hook_type_waker(uint64_t header, uint32_t number) HIDDEN __attribute__((used));

void futrace_hook_type_waker(uint64_t header, uint32_t number)
{
	const struct core_waker *w = &core_type_wakers[number / 2];

	core_wake_tried(header);
	if (probes_wanted(PROBES_TOKIO))
		probes_wake_tried(header);
	((void (*)(uint64_t))(number % 2 ? w->wake_by_ref : w->wake))(header);
}

void futrace_hook_abort(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	if (probes_wanted(PROBES_TOKIO))
		probes_wake_tried(header);
	((hook_fn)core_abort_tried(header))(header, b, c, d, e, f);
}
