// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Probes of provider `tokio`, with the names and arguments of tokio-dtrace, and one argument more:
 * those of the agent have it, and a script that asks for it cannot be attached where it is missing.
 * src/hooks.rs calls them, and knows the order of their semaphores.
 */
#include "own.h"

#define ON OWN(futrace_tokio)

/* arg0 id, arg1 file, arg2 line, arg3 column of the spawn, arg4 type */
#define TASK                                                                        \
	USDT_OPERAND_1_u64 USDT_OPERAND_2_str USDT_OPERAND_3_u32 USDT_OPERAND_4_u32 \
		USDT_OPERAND_5_str

#define PROBES                                                                           \
	PROBE(futrace_task_spawn, "task" DASH "spawn", TASK)                             \
	PROBE(futrace_task_poll_start, "task" DASH "poll" DASH "start", TASK)            \
	PROBE(futrace_task_poll_end, "task" DASH "poll" DASH "end", TASK)                \
	PROBE(futrace_task_terminate, "task" DASH "terminate", TASK)                     \
	PROBE(futrace_thread_start, "worker" DASH "thread" DASH "start", "")             \
	PROBE(futrace_thread_stop, "worker" DASH "thread" DASH "stop", "")               \
	PROBE(futrace_thread_park, "worker" DASH "thread" DASH "park", "")               \
	PROBE(futrace_thread_unpark, "worker" DASH "thread" DASH "unpark", "")

#define PROBE(symbol, name, operands) OWN_PROBE(OWN(symbol), "tokio", name, operands)
/* a page of its own, as in marks.c */
__asm__(".pushsection .probes, \"aw\", %progbits\n"
	".balign 4096\n"
	".popsection\n" OWN_BEGIN(ON) PROBES USDT_END OWN_KEEP(OWN(futrace_task_spawn), ON));
