// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where tasks stood when they were polled. The plan gets a recipe for each type of task that debug
 * info describes; the agent leaves the paths that it met in the region, as choices, and here they
 * become steps with names and lines of source in the file.
 */
#ifndef CAPTURE_PATHS_H
#define CAPTURE_PATHS_H

#include "base/map.h"
#include "future/reading.h"
#include "walk/stands.h"

struct process;
struct process_object;

/* What a file brought to the recipes of a process. */
struct paths_joined {
	const struct reading *reading;
	uint32_t by; /* see recipes_join */
};

struct paths {
	struct recipes recipes; /* without nodes until the first is made */
	VEC(struct paths_joined) joined;
	uint32_t nr_nodes, nr_edges, nr_dyns, nr_framed; /* that are in the region */
	struct map steps;      /* by outer step, type and variant: number in the file + 1 */
	struct map by_choices; /* by their hash: number of the path */
	uint32_t nr_own;       /* paths that the agent does not know, behind its own */
	uint64_t told[WIRE_PATH_WORDS]; /* a bit for each path that is in the file */
};

void paths_release(struct paths *p);
/* Fills in the recipes of the object's tables, which begin at first_table. */
void paths_plan(struct process *p, struct process_object *o, uint32_t first_table);
/* Writes the paths that were met since the last call to the process's file. */
void paths_write(struct process *p);
/* The number of a path that the tool met itself, written on first use; 0: there are too many. */
uint32_t paths_number(struct process *p, const struct stands_trail *t);

#endif
