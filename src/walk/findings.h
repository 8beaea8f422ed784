// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that can never go on, and types of which there are more and more tasks. Cycles are looked
 * for twice in a live process, as tasks are read one after the other; a finding that a task which
 * could not be read may disprove is dropped, and counted.
 */
#ifndef WALK_FINDINGS_H
#define WALK_FINDINGS_H

#include <pthread.h>

#include "walk/look.h"
#include "walk/ties.h"

/* Tasks of one table that become more. */
struct growth {
	uint32_t table; /* in the census */
	uint64_t before, after;
	uint64_t task_bytes; /* 0: unknown */
};

struct findings {
	const struct look *look;
	pthread_mutex_t lock;
	struct ties ties;
	struct stuck_list found;
	VEC(struct growth) growth; /* the worst first */
	const char *filter;
	bool *are_wanted;     /* by task of the census: it fits the filter */
	bool *are_read;	      /* by task of the census: it is known which guards it has */
	uint32_t nr_left_out; /* findings without a task that is wanted */
	uint32_t nr_doubtful; /* findings that a task which could not be read may disprove */
};

/* filter: only what is wrong with tasks that fit is told; NULL: everything. */
void findings_init(struct findings *f, const struct look *l, const char *filter);
void findings_release(struct findings *f);
/* Of each task that is walked; a walk_fn. */
void findings_add(void *findings, size_t index, const struct walk_result *r);
/* When all are walked. Walks a process once more, a little later, if that is to be confirmed. */
void findings_conclude(struct findings *f);

/* The number of live tasks by the address of their table. */
void findings_count(const struct look *l, struct map *counts);
/* Tells which tasks have become many more since they were counted. */
void findings_compare(struct findings *f, const struct map *before);

#endif
