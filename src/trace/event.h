// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One event as everything above the trace file sees it: the only seam between capturing and
 * thinking. Made from wire/event.def; see there for the meaning of each kind and flag.
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include "base/util.h"
#include "wire/event.h"

struct event {
	uint64_t time;	 /* reader: ns since the start of the recording; writer: ticks */
	uint32_t thread; /* index into the trace's threads, not the tid */
	uint8_t kind;	 /* enum event_kind */
	uint8_t flags;	 /* EF_… */
	uint16_t type; /* index into the trace's types, EVENT_TYPE_NONE; events that name a task */
	uint64_t task; /* the runtime's own id; events that name a task */
	union {
		uint64_t addr; /* TASK_ADDR events: the task's header */
		uint64_t a;
	};
	union {
		uint64_t path; /* RUN_START: number of a path, 0 when it is not known */
		uint64_t b;
	};
};

/* The entry of a kind in event.def. */
struct event_desc {
	const char *name;  /* NULL: no such kind */
	uint8_t task;	   /* EVENT_TASK_… */
	const char *a, *b; /* NULL: it has no such number */
	const char *flags[EVENT_FLAG_BITS];
};

extern const struct event_desc event_descs[EV_MAX];

#endif
