// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Ticks -> nanoseconds since the start of the recording: straight lines between clock anchors, in
 * whole numbers, never decreasing, the same on every machine (docs/FORMAT.md). Only for the files
 * of this folder.
 */
#ifndef TRACE_TIMELINE_H
#define TRACE_TIMELINE_H

#include "base/clock.h"
#include "base/vec.h"

struct timeline_line {
	int64_t tick; /* where it begins, from time 0 */
	__int128 ns;  /* there, CLOCK_MONOTONIC minus that of time 0 */
	uint64_t f;   /* ns per tick << TIMELINE_SHIFT */
};

#define TIMELINE_SHIFT 40

struct timeline {
	VEC(struct timeline_line) lines; /* at least one */
	/* The line used last, for stamps mostly grow; its `span` first ticks need no care. */
	uint64_t tick, span, ns, f;
};

/* Anchors in the order of the file, good or not. */
void timeline_init(struct timeline *t, const struct clock_anchor *anchors, size_t nr,
		   uint64_t base_ticks);
void timeline_release(struct timeline *t);
uint64_t timeline_find_ns(struct timeline *t, uint64_t tick);

static inline uint64_t timeline_ns(struct timeline *t, uint64_t tick)
{
	uint64_t since = tick - t->tick;

	if (likely(since < t->span))
		return t->ns + (uint64_t)((unsigned __int128)since * t->f >> TIMELINE_SHIFT);
	return timeline_find_ns(t, tick);
}

#endif
