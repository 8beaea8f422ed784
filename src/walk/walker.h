// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Walks the futures of tasks, without stopping anybody: a tree is right, or it is said that the
 * task was running. Tasks are dealt out to threads, and their memory is read many at a time.
 */
#ifndef WALK_WALKER_H
#define WALK_WALKER_H

#include "walk/census.h"
#include "walk/tree.h"

enum walk_status {
	WALK_OK,
	WALK_RUNNING, /* it ran, or was polled again and again, while it was looked at */
	WALK_GONE,    /* it is over by now, or never was a task */
	WALK_UNKNOWN, /* debug info does not describe its type */
	WALK_BROKEN,  /* debug info and memory do not fit together */
};

#define WALK_MAX_THREADS 16

struct walk_result {
	unsigned walker; /* which of the threads tells it, below WALK_MAX_THREADS */
	enum walk_status status;
	enum task_state state;	 /* when the tree was read */
	const struct tree *tree; /* empty unless WALK_OK */
};

struct walk_opts {
	bool locals; /* variables of plain types as well */
	bool ties;   /* what holds locks as well: for walk/ties.h */
};

/* Called from several threads at once, once for each task. `index` is the task's in the census. */
typedef void walk_fn(void *arg, size_t index, const struct walk_result *r);

/* objects_open_layouts must have been called. */
void walk_tasks(const struct census *c, const struct walk_opts *opts, walk_fn *fn, void *arg);

#endif
