// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Counters over time: how many tasks live, wait for a worker and run, how many threads are busy.
 * Averages over short bins, so that their number is bounded and it does not matter when something
 * is told.
 */
#ifndef EXPORT_COUNTERS_H
#define EXPORT_COUNTERS_H

#include "base/vec.h"
#include "model/load.h"
#include "model/model.h"

enum counter {
	COUNTER_LIVE,
	COUNTER_SCHEDULED,
	COUNTER_RUNNING,
	COUNTER_WORKERS,
	COUNTER_BLOCKING,
	NR_COUNTERS
};

struct counters {
	struct load *loads[NR_COUNTERS];
	VEC(uint64_t) sched_ns; /* by the slots of tasks: what was added so far */
};

extern const struct model_ops counters_ops; /* of a struct counters */
/* They take at most 1 / 2^shift of max_bytes (0: of any size), where a value takes value_bytes. */
void counters_init(struct counters *c, uint64_t from_ns, uint64_t to_ns, uint64_t max_bytes,
		   unsigned shift, unsigned value_bytes);
void counters_release(struct counters *c);
/* The average over a bin of the load. */
double counters_get(struct counters *c, enum counter which, uint32_t bin);
const char *counter_name(enum counter c, const char **unit);

#endif
