// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that adds up by where tasks stood: for each path the waits there and the runs that ended
 * them, and how often each path came after each other one. All that is said of await points and of
 * futures inside of tasks is made of these sums when the recording is over, so a run costs the same
 * however deep its path is.
 *
 * A *wait* is what lies between two runs of a task: idle until somebody woke it, then scheduled
 * until a worker was free.
 */
#ifndef ANALYZE_BY_PATH_H
#define ANALYZE_BY_PATH_H

#include "base/histogram.h"
#include "model/recording.h"

struct by_path_row {
	uint64_t nr; /* waits there, as far as is known: nr_polls, nr_drops and nr_open */
	uint64_t nr_polls, nr_drops;	 /* runs that began there */
	uint64_t nr_open;		 /* the recording ended first */
	uint64_t poll_ns;		 /* of the polls */
	uint64_t idle_ns, sched_ns;	 /* of the waits */
	uint64_t wakes[MODEL_NR_CAUSES]; /* of polls: what ended the wait, where that is known */
	uint64_t nr_unknown;		 /* waits whose length is not known */
	uint64_t start_ns, end_ns;	 /* of the first wait and of the last */
	struct histogram wait;		 /* idle and scheduled, where it is known */
	struct model_key longest;	 /* whose wait was the longest */
	uint64_t longest_ns, longest_at_ns;
	uint32_t group; /* of the first task there; of all of them, unless … */
	bool is_mixed;	/* … they are of several */
};

/* Where a task was next: at a path, or else at none of them, because … */
#define BY_PATH_ENDS	(UINT32_MAX - 16) /* … it was over: and an enum model_end */
#define BY_PATH_DROPS	(UINT32_MAX - 1)  /* … the run that began there dropped it */
#define BY_PATH_UNKNOWN UINT32_MAX	  /* … nobody knows where it was */
/* Where it was before: nobody knows, but nothing of it had been polled. */
#define BY_PATH_BEGINS (UINT32_MAX - 2)

struct by_path_change {
	uint32_t from, to;	/* paths, or one of the above; from: one of the last two */
	enum model_cause cause; /* of the run in between; MODEL_NR_CAUSES: not known */
	bool was_idle;		/* before it: who wakes a task that runs may come too late */
	uint64_t nr;
	uint64_t poll_ns; /* of the runs in between */
};

struct by_path;

/* rec is borrowed and outlives it. */
struct by_path *by_path_new(const struct recording *rec);
void by_path_free(struct by_path *b);
extern const struct model_ops by_path_ops; /* the sink is the struct by_path */
void by_path_finish(struct by_path *b);	   /* after the last run; the rest after that */

/* By path: rec->nr_paths of them. */
const struct by_path_row *by_path_get_rows(const struct by_path *b);
const struct by_path_change *by_path_get_changes(const struct by_path *b, size_t *nr);
/* How many tasks waited at an await point, by point. */
const uint64_t *by_path_get_nr_tasks(const struct by_path *b);

/* Waits of which nobody knows where they were: those that ended, and those that are *open* when the
 * recording ends: the run that ends a wait tells, or who looked at the task while it waited. */
struct by_path_rest {
	uint64_t nr, nr_open;
	uint64_t ns, open_ns;
};
const struct by_path_rest *by_path_get_rest(const struct by_path *b);

#endif
