// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which tasks get a track of their own. There may be millions of tasks: those that findings name
 * come first, then those with the longest poll or wait for a worker. Who they are is known at the
 * end of a pass; the next one draws them.
 */
#ifndef EXPORT_CHOSEN_H
#define EXPORT_CHOSEN_H

#include "analyze/analyze.h"
#include "base/vec.h"

struct chosen_task {
	uint64_t nr; /* UINT64_MAX: whoever has the key */
	struct model_key key;
	uint64_t score;
};

struct chosen {
	uint32_t nr_wanted;
	VEC(struct chosen_task) v;
	VEC(uint64_t) dense; /* numbers of tasks with very many polls */
};

extern const struct model_ops chosen_ops; /* of a struct chosen; the first pass */
/* After that. */
void chosen_settle(struct chosen *c, const struct finding *findings, size_t nr);
/* Instead: whoever has that id. */
void chosen_set_id(struct chosen *c, uint64_t id);
void chosen_release(struct chosen *c);

/* Its place among them, from 1; 0: it is not one of them. */
unsigned chosen_rank(const struct chosen *c, const struct model_task *task);
bool chosen_is_dense(const struct chosen *c, const struct model_task *task);

#endif
