// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Who spawned whom, by group of types: a tree of *paths*, each a group under the path of the task
 * that spawned it. It is what flame graphs of tasks are made of. Grows with different paths, not
 * with tasks; what spawns its own kind without end is cut at a depth.
 */
#ifndef MODEL_LINEAGE_H
#define MODEL_LINEAGE_H

#include "model/recording.h"

#define LINEAGE_ROOT UINT32_MAX /* the parent of paths that begin */

struct lineage_path {
	uint32_t parent; /* LINEAGE_ROOT or a smaller number than its own */
	uint32_t group;
	uint32_t depth; /* how many paths are above it */
	uint64_t nr_tasks, polls;
	uint64_t ns[MODEL_NR_STATES]; /* of its own tasks, not of those below */
};

struct lineage;

struct lineage *lineage_new(const struct recording *rec);
void lineage_free(struct lineage *l);
extern const struct model_ops lineage_ops; /* the sink is the struct lineage */
const struct lineage_path *lineage_get_paths(const struct lineage *l, uint32_t *nr);

#endif
