// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Futures inside of a run, for timelines: polls that were recorded one by one, and between them
 * those of which only the run's path tells.
 *
 * A run goes on where its path leads: what it polls first is the outermost future of the path whose
 * polls are recorded, in that the next one, and so on. These have slices of their own. Any other
 * future of the path lies in the poll of the one around it, and is taken to be as long as that. A
 * poll of which nobody knows where it lies on the path, or that comes later but belongs around what
 * was polled, leaves open what is around it: nothing is told of that but what was recorded.
 */
#ifndef EXPORT_NESTED_H
#define EXPORT_NESTED_H

#include "base/vec.h"
#include "export/trunks.h"

/* How far outwards the path of an open run is known to have been polled. */
struct nested_run {
	uint64_t start_ns;
	uint32_t depth, from; /* from that step of the path on, by polls of that depth */
	bool is_lost;	      /* what lies next around them is not known */
};

struct nested_thread {
	VEC(struct nested_run) runs;
};

struct nested {
	const struct trunks *trunks;
	VEC(struct nested_thread) threads;
};

void nested_release(struct nested *n);

/*
 * The futures that are in that poll, or run, outermost first, as far as only the path tells. To be
 * called for each poll of a future and each run, once, in the order in which the model tells them.
 */
struct trunk nested_in_future(struct nested *n, const struct model_future *f);
struct trunk nested_in_run(struct nested *n, const struct model_run *run);

#endif
