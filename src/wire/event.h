// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Events as they lie in a ring: one to three 64-bit words, made from event.def.
 *
 *	word 0	kind:5 | flags:5 | ticks:54	ticks since the region's base_ticks
 *	word 1	id:48 | type:16			only events that name a task
 *	word 2	addr:48 | path:16		only TASK_ADDR: of the task's header
 *	then	arg_a, arg_b			as far as the event has them
 *
 * A zero word where an event would begin: the rest of this segment of the ring is unused.
 *
 * A tick is one count of the region's clock (TSC or nanoseconds). 54 bits at 5 GHz last 41 days;
 * the reader of a ring unwraps, as the stamps of one thread only grow.
 */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include <stdint.h>

enum event_kind {
#define EVENT(nr, NAME, name, task, a, b) EV_##NAME = nr,
#define FLAG(NAME, bit, name, ev)
#include "wire/event.def"
#undef EVENT
#undef FLAG
	EV_MAX = 32,
};

enum event_flag {
#define EVENT(nr, NAME, name, task, a, b)
#define FLAG(NAME, bit, name, ev) EF_##NAME = 1 << (bit),
#include "wire/event.def"
#undef EVENT
#undef FLAG
};

#define EVENT_TASK_NONE	   0
#define EVENT_TASK_ID	   1
#define EVENT_TASK_ADDR	   2
#define EVENT_ARG_NONE	   0
#define EVENT_ARG_addr	   1
#define EVENT_ARG_size	   1
#define EVENT_ARG_tid	   1
#define EVENT_ARG_kind	   1
#define EVENT_ARG_count	   1
#define EVENT_ARG_stack	   1
#define EVENT_ARG_instance 1
#define EVENT_ARG_owner	   1
#define EVENT_ARG_number   1
#define EVENT_ARG_path	   0 /* has no word of its own */
#define EVENT_ARG_future   1
#define EVENT_ARG_name	   1
#define EVENT_ARG_id	   1
#define EVENT_ARG_value	   1
#define EVENT_ARG_text_lo  1
#define EVENT_ARG_text_hi  1
#define EVENT_ARG_name_lo  1
#define EVENT_ARG_name_hi  1

/* Words an event takes in the ring, as a compile-time constant: EVENT_WORDS_RUN_START etc. */
enum event_words {
#define EVENT(nr, NAME, name, task, a, b) \
	EVENT_WORDS_##NAME = 1 + EVENT_##task + EVENT_ARG_##a + EVENT_ARG_##b,
#define FLAG(NAME, bit, name, ev)
#include "wire/event.def"
#undef EVENT
#undef FLAG
};

#define EVENT_KIND_BITS	 5
#define EVENT_FLAG_BITS	 5
#define EVENT_TICK_SHIFT (EVENT_KIND_BITS + EVENT_FLAG_BITS)
#define EVENT_TICK_BITS	 (64 - EVENT_TICK_SHIFT)
#define EVENT_ID_BITS	 48
#define EVENT_ID_MASK	 ((UINT64_C(1) << EVENT_ID_BITS) - 1)
#define EVENT_TYPE_NONE	 0xffff /* a table without a type, or more types than fit */
#define EVENT_ADDR_BITS	 48
#define EVENT_ADDR_MASK	 ((UINT64_C(1) << EVENT_ADDR_BITS) - 1)

/* A poll of so long or longer blocks its thread, to the probe async_std:machine_blocked and, unless
 * told otherwise, to `report --by=machine`. The monitor of async-std's machines noticed one then at
 * the latest. */
#define BLOCKADE_NS UINT64_C(10000000)

#define EVENT_WORD0(kind, flags, ticks)                            \
	((uint64_t)(kind) | (uint64_t)(flags) << EVENT_KIND_BITS | \
	 (uint64_t)(ticks) << EVENT_TICK_SHIFT)
#define EVENT_WORD1(id, type)	(((uint64_t)(id)&EVENT_ID_MASK) | (uint64_t)(type) << EVENT_ID_BITS)
#define EVENT_WORD2(addr, path) ((uint64_t)(addr) | (uint64_t)(path) << EVENT_ADDR_BITS)

#endif
