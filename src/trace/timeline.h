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
	size_t at;			 /* the line used last: stamps mostly grow */
};

/* Anchors in the order of the file, good or not. */
void timeline_init(struct timeline *t, const struct clock_anchor *anchors, size_t nr,
		   uint64_t base_ticks);
void timeline_release(struct timeline *t);
uint64_t timeline_find_ns(struct timeline *t, uint64_t tick);

/* Not below 0: the recording begins at 0 whatever the anchors say. */
static inline uint64_t timeline_line_ns(const struct timeline_line *l, uint64_t tick)
{
	__int128 ns = l->ns + ((((__int128)tick - l->tick) * l->f) >> TIMELINE_SHIFT);

	if (unlikely(ns < 0))
		return 0;
	return likely(ns <= INT64_MAX) ? (uint64_t)ns : INT64_MAX;
}

static inline uint64_t timeline_ns(struct timeline *t, uint64_t tick)
{
	const struct timeline_line *l = &t->lines.v[t->at];

	if (likely((int64_t)tick >= l->tick &&
		   (t->at + 1 == t->lines.nr || (int64_t)tick < l[1].tick)))
		return timeline_line_ns(l, tick);
	return timeline_find_ns(t, tick);
}

#endif
