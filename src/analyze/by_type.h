// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that adds up tasks and polls by group of types (model/recording.h): the sums that the
 * report's table shows and that most analyses look at.
 */
#ifndef ANALYZE_BY_TYPE_H
#define ANALYZE_BY_TYPE_H

#include "base/histogram.h"
#include "model/recording.h"

struct by_type_row {
	const struct recording_group *group;
	uint64_t nr_tasks, nr_first_seen; /* first seen: their spawn was not seen */
	uint64_t nr_never_polled;
	uint64_t nr_live, peak; /* now; at most at one time */
	uint64_t polls, max_poll_ns;
	uint64_t blocked_ns;				/* asleep in the kernel inside its runs */
	uint64_t nr_blocked_polls, max_blocked_poll_ns; /* polls that slept, the longest sleep */
	uint64_t ns[MODEL_NR_STATES];
	uint64_t wakes[MODEL_NR_CAUSES];
	uint64_t ends[MODEL_NR_ENDS]; /* by enum model_end */
	/* Of each poll: how long it took; and where it is known what came before it, the wait for a
	 * worker, and the idle time before that if there was some. */
	struct histogram poll, sched, idle;
};

struct by_type;

/* rec is borrowed and outlives it. */
struct by_type *by_type_new(const struct recording *rec);
void by_type_free(struct by_type *b);
extern const struct model_ops by_type_ops; /* the sink is the struct by_type */
/* By group, rec->nr_groups of them; those without tasks too. */
const struct by_type_row *by_type_get_rows(const struct by_type *b);
/* Of all rows; group is NULL. To be released. */
void by_type_get_total(const struct by_type *b, struct by_type_row *total);
/* The same of all rows of a kind. */
void by_type_get_kind(const struct by_type *b, enum trace_task_kind kind,
		      struct by_type_row *total);
void by_type_row_release(struct by_type_row *row);

#endif
