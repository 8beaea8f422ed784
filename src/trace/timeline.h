// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Ticks -> nanoseconds since the start of the recording: straight lines between clock anchors, in
 * whole numbers, never decreasing, the same on every machine (docs/FORMAT.md). Anchors may be added
 * at any time: they leave the time of ticks before the last good anchor as it is, if that lies
 * after time 0. Only for the files of this folder.
 */
#ifndef TRACE_TIMELINE_H
#define TRACE_TIMELINE_H

#include "base/clock.h"
#include "base/vec.h"

struct timeline_line {
	int64_t tick; /* where it begins, from time 0 */
	__int128 ns;  /* there, CLOCK_MONOTONIC */
	uint64_t f;   /* ns per tick << TIMELINE_SHIFT */
};

#define TIMELINE_SHIFT 40

struct timeline {
	VEC(struct timeline_line) lines; /* none: a tick is a nanosecond */
	__int128 zero;			 /* CLOCK_MONOTONIC at time 0 */
	/* The last good anchor, where the last line ends for the time being. */
	struct {
		int64_t tick;
		uint64_t mono_ns;
	} end;
	bool has_end;
	/* The line used last, for stamps mostly grow; its `span` first ticks need no care. */
	uint64_t tick, span, ns, f;
};

/* Zeroed memory is a timeline without anchors. */
void timeline_add(struct timeline *t, const struct clock_anchor *a, uint64_t base_ticks);
void timeline_release(struct timeline *t);
uint64_t timeline_find_ns(struct timeline *t, uint64_t tick);
/* Ticks before this one have a time that no further anchor changes; 0: none have. */
uint64_t timeline_settled(const struct timeline *t);

static inline uint64_t timeline_ns(struct timeline *t, uint64_t tick)
{
	uint64_t since = tick - t->tick;

	if (likely(since < t->span))
		return t->ns + (uint64_t)((unsigned __int128)since * t->f >> TIMELINE_SHIFT);
	return timeline_find_ns(t, tick);
}

#endif
