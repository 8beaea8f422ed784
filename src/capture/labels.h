// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the probes call tasks: names of types and files, as strings that the agent can point to.
 * They lie in the region, each once.
 */
#ifndef CAPTURE_LABELS_H
#define CAPTURE_LABELS_H

#include "base/intern.h"
#include "base/vec.h"
#include "runtime/discover.h"

struct labels {
	struct intern *strings; /* NULL: none yet */
	VEC(uint32_t) offs;	/* of each, in the region */
	uint32_t nr_bytes;	/* taken there; the target may overwrite what it says itself */
};

void labels_release(struct labels *l);
/* Fills in what of the plan is for probes, if it is of a task table. */
void labels_plan(struct labels *l, struct wire_region *r, const struct found_table *t,
		 struct wire_table *plan);

#endif
