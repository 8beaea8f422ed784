// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that counts who makes whom runnable, by group of types on both sides, and how long it took
 * from there to the poll. Threads outside the runtime are told apart by their names: a pool of
 * them is one waker. Memory grows with pairs that occur, not with wakes.
 */
#ifndef ANALYZE_BY_WAKE_H
#define ANALYZE_BY_WAKE_H

#include "base/histogram.h"
#include "model/recording.h"

struct by_wake_row {
	bool is_spawn; /* by spawning it, which is no wake: cause is BY_TASK or BY_THREAD */
	enum model_cause cause;
	uint32_t waker; /* BY_TASK: its group; BY_THREAD: the first thread of its name, or
			   MODEL_NO_THREAD; 0 else */
	uint32_t woken; /* the group */
	uint64_t nr;	/* wakes, or tasks spawned */
	/* Of the polls that followed: how long the task had been runnable, where that is known. */
	struct histogram latency;
};

struct by_wake;

/* rec is borrowed and outlives it. */
struct by_wake *by_wake_new(const struct recording *rec);
void by_wake_free(struct by_wake *b);
extern const struct model_ops by_wake_ops; /* the sink is the struct by_wake */
/* After the pass, in the order in which they were first seen. */
const struct by_wake_row *by_wake_get_rows(const struct by_wake *b, size_t *nr);

#endif
