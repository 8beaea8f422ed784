// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where tasks wait, by await point: made of the sums by path when the recording is over.
 *
 * A wait is the *own* wait of its seats (model/steps.h): of the innermost line of the program's own
 * in each branch, so that it is told once where a person would look for it. The lines around it, up
 * to the task's own, and those of libraries inside of it have it among *all* their waits.
 */
#ifndef ANALYZE_BY_AWAIT_H
#define ANALYZE_BY_AWAIT_H

#include "analyze/by_path.h"

struct by_await_row {
	/* Of the point; NULL: of waits whose place is not known, or, if some are open, of those. */
	const struct trace_step *step;
	/* What it waits for most of the time: the innermost step; NULL: it is not known. */
	const struct trace_step *leaf;
	uint64_t nr_tasks;
	uint64_t nr, nr_dropped; /* own waits; those that ended because the task was dropped */
	uint64_t nr_open;	 /* those that the recording ended before */
	uint64_t wait_ns, idle_ns, sched_ns; /* of own waits; wait: both */
	uint64_t wakes[MODEL_NR_CAUSES];     /* what ended own waits, where it is known */
	uint64_t nr_all, all_ns;
	uint64_t start_ns, end_ns; /* of the first own wait and of the last */
	struct histogram wait;	   /* own waits */
	struct model_key longest;  /* whose was the longest of them */
	uint64_t longest_ns, longest_at_ns;
	uint32_t group;	  /* of tasks that wait there; of all of them, if … */
	bool is_of_group; /* … they are of one */
};

struct by_await {
	struct by_await_row *v; /* by point; then of no known place, and open */
	uint32_t nr;
};

/* Rows of points at which nobody waited are there too. */
void by_await_init(struct by_await *b, const struct recording *rec, const struct by_path *paths);
/* What a row that has no step is called. */
const char *by_await_rest_name(const struct by_await_row *row);
void by_await_release(struct by_await *b);

#endif
