// SPDX-License-Identifier: MIT OR Apache-2.0
/* A look into the memory of a process or core file: its objects, and a census of its tasks. */
#ifndef WALK_LOOK_H
#define WALK_LOOK_H

#include "walk/peers.h"
#include "walk/walker.h"

struct look {
	struct memory *memory;
	struct objects objects;
	struct census census;
	struct peers peers; /* of the process; filled when they are asked for */
};

struct look_opts {
	uint32_t pid;
	const char *core;      /* in place of the process, or NULL */
	const char *exe;       /* the core file's program, NULL: it is where it was */
	const char *cache_dir; /* NULL: nothing is kept */
};

/* Takes a census. -1: there is none; e is not NULL. look_close in any case. */
int look_open(struct look *l, const struct look_opts *o, struct err *e);
void look_close(struct look *l);
/* -1: it is not the same program any more, and what was read may be anything. */
int look_check(const struct look *l, struct err *e);

const struct found_table *look_table(const struct look *l, const struct census_task *t);
const struct found_runtime *look_runtime(const struct look *l, const struct census_task *t);
/* Index among the runtimes of all objects. */
uint32_t look_runtime_id(const struct look *l, const struct census_task *t);
/* Does debug info describe types? */
bool look_has_layouts(const struct look *l, const struct census_task *t);
/* A root future, which was found by trying. */
bool look_is_guess(const struct look *l, const struct census_task *t);
/* A Box<dyn Future>: what it holds says more than its type. */
bool look_is_boxed(const struct look *l, const struct census_task *t);

/* Has the task's type, or a future in its tree, a name, function or file that fits? NULL fits all.
 */
bool look_fits(const struct look *l, const char *pattern, const struct census_task *t,
	       const struct tree *tree);
/* CLOCK_MONOTONIC of the memory's owner, 0: not known, of a core file. */
uint64_t look_now(const struct look *l);

#endif
