// SPDX-License-Identifier: MIT OR Apache-2.0
/* An open run in the region: what the agent knows of it besides its start in the ring. */
#ifndef WIRE_RUN_H
#define WIRE_RUN_H

#include <stdint.h>

#define WIRE_RUNS_BYTES 8192 /* of a thread's open runs, a power of two */

/*
 * A run, or the poll of an inner future, that has begun and not ended. The producer alone reads and
 * writes it. Those of a thread lie in a table of its slot, in the order in which they began; the
 * first entry stands for none.
 */
struct wire_run {
	uint64_t id;	 /* of the run: ticks of its start and enum core_run_bits */
	uint64_t header; /* of its task; of a future, the number of its definition */
	uint64_t frame;	 /* where its hook stood on the stack; compared, never followed */
	uint64_t task;	 /* as events name its task; 0 of a future */
};

_Static_assert(sizeof(struct wire_run) == 32, "wire_run");

#endif
