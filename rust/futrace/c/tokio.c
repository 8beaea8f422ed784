// SPDX-License-Identifier: MIT OR Apache-2.0
/* Probes of provider `tokio`, with the names and arguments of tokio-dtrace. */
#include "usdt.h"

#define ON OWN(futrace_tokio)

/* Semaphores, in this order; src/hooks.rs knows it, too. */
enum { SPAWN, POLL_START, POLL_END, TERMINATE, START, STOP, PARK, UNPARK, NR };
extern uint16_t ON[NR];
uint16_t ON[NR] __attribute__((section(".probes"), aligned(8)));

#define TASK_PROBE(function, name, index)                                                        \
	USDT_KEEP void OWN(function)(uint64_t id, const char *file, uint32_t line,               \
				     uint32_t column);                                           \
	void OWN(function)(uint64_t id, const char *file, uint32_t line, uint32_t column)        \
	{                                                                                        \
		_Static_assert(index < NR, "a semaphore for each");                              \
		USDT("tokio", name, USDT_STRING(ON) "+2*" #index, "8@%0 8@%1 4@%2 4@%3", "r"(id), \
		     "r"(file), "r"(line), "r"(column));                                         \
	}

#define THREAD_PROBE(function, name, index)                               \
	USDT_KEEP void OWN(function)(void);                               \
	void OWN(function)(void)                                          \
	{                                                                 \
		_Static_assert(index < NR, "a semaphore for each");       \
		USDT("tokio", name, USDT_STRING(ON) "+2*" #index, "", );  \
	}

TASK_PROBE(futrace_task_spawn, "task" DASH "spawn", 0)
TASK_PROBE(futrace_task_poll_start, "task" DASH "poll" DASH "start", 1)
TASK_PROBE(futrace_task_poll_end, "task" DASH "poll" DASH "end", 2)
TASK_PROBE(futrace_task_terminate, "task" DASH "terminate", 3)
THREAD_PROBE(futrace_thread_start, "worker" DASH "thread" DASH "start", 4)
THREAD_PROBE(futrace_thread_stop, "worker" DASH "thread" DASH "stop", 5)
THREAD_PROBE(futrace_thread_park, "worker" DASH "thread" DASH "park", 6)
THREAD_PROBE(futrace_thread_unpark, "worker" DASH "thread" DASH "unpark", 7)
