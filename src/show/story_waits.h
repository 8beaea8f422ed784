// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where a task waited, and how long at each place: sums of the runs of one task. */
#ifndef SHOW_STORY_WAITS_H
#define SHOW_STORY_WAITS_H

#include "base/vec.h"
#include "model/recording.h"

struct story_wait {
	uint32_t path; /* one of those that are called alike */
	uint64_t nr, ns;
};

struct story_waits {
	VEC(struct story_wait) v; /* by path, once it is settled by place: the longest first */
};

/* One more wait at a path, which may be MODEL_NO_PATH. */
void story_waits_add(struct story_waits *w, uint32_t path, uint64_t ns);
/* Paths that wait at the same place become one. */
void story_waits_settle(struct story_waits *w, const struct recording *rec);
void story_waits_release(struct story_waits *w);

#endif
