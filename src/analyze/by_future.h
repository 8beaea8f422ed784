// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The futures that tasks are made of, by type: made of the sums by path when the recording is over.
 *
 * What can be known. A path says which futures stood there when a run of the task began. One that
 * is on a path and was not on the path before began in the run in between; one that is no longer
 * there ended in it. It *finished* if the future around it went on, for an await goes on when its
 * future is ready; it was *dropped* if its task was. Of several futures that one awaits at once
 * (select!, a timeout) one may be ready and the others dropped: which one, is told by the leaf that
 * was ready, or by who woke the task; where neither does, they are *unsure*. A future that is
 * ready at its first poll is on no path; and where a loop begins the same future again at the same
 * line, the path is the same: they count as one, unless their leaf was seen to be ready.
 */
#ifndef ANALYZE_BY_FUTURE_H
#define ANALYZE_BY_FUTURE_H

#include "analyze/by_path.h"
#include "base/vec.h"

/* Where futures of a type stood when they were dropped. */
struct by_future_drop {
	const struct trace_step
		*step; /* that waits at a line; NULL: none is known, or it never ran */
	uint64_t nr;
};

struct by_future_row {
	const struct trace_step *step; /* of the type: for its name */
	uint64_t nr;		       /* that were told from each other */
	uint64_t nr_finished, nr_dropped, nr_unsure;
	uint64_t nr_unknown;		  /* the rest: still there, or nobody knows */
	uint64_t polls, poll_ns;	  /* of tasks that it took part in */
	uint64_t waits, wait_ns;	  /* of tasks while it was there */
	VEC(struct by_future_drop) drops; /* most often first */
};

struct by_future {
	struct by_future_row *v; /* by number of the future, see model/steps.h */
	uint32_t nr;
};

void by_future_init(struct by_future *b, const struct recording *rec, const struct by_path *paths);
void by_future_release(struct by_future *b);

#endif
