// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is seen of async-task's tasks. docs/internals/async-task.md says why. */
#include "runtime/async_task.h"

void async_task_judge(struct finding *f, const struct discovery *d, const struct found_runtime *r,
		      struct found_fact facts[NR_FACTS])
{
	facts[FACT_POLLS] = (struct found_fact){ HOW_EXACT };
	facts[FACT_KINDS] =
		d->rung == RUNG_NOTHING
			? (struct found_fact){ HOW_SOME, "not which tasks are blocking calls",
					       "build with `strip = false`" }
			: (struct found_fact){ HOW_SOME, "a LocalExecutor's tasks where debug info "
							 "shows how they were spawned" };
	facts[FACT_SPAWNS] =
		(struct found_fact){ HOW_EXACT, "with parent; first seen where spawning was "
						"inlined" };
	facts[FACT_PLACES] =
		d->rung < RUNG_LINES
			? fact_no_lines(d)
			: (struct found_fact){ HOW_EXACT, "file and line, by a walk of the stack, "
							  "where the spawn is seen" };
	facts[FACT_AWAITS] = fact_awaits(d, r);
	facts[FACT_WAKES] = (struct found_fact){ HOW_EXACT, "with cause" };
	/* polling makes its system calls itself, not by functions of libc, which the agent stands
	 * in front of. */
	facts[FACT_PARKS] =
		d->roots.nr_waits
			? (struct found_fact){ HOW_EXACT, "sleeps by futex and in the reactor" }
			: (struct found_fact){ HOW_SOME, "waits for I/O and timers are not: such "
							 "threads are neither busy nor asleep" };
	facts[FACT_BLOCK_ON] =
		d->roots.nr_parks && d->rung == RUNG_FULL
			? (struct found_fact){ HOW_SOME, "where debug info tells where its future "
							 "lies; not how long its first poll took; "
							 "not futures_lite's and futures' own, of "
							 "which nothing tells when they end" }
			: (struct found_fact){ HOW_NOT, "its future is not a task",
					       "spawn its work as a task, or build with `strip "
					       "= false` and `debug = \"full\"`" };
	facts[FACT_BLOCKING] =
		d->rung == RUNG_NOTHING
			? (struct found_fact){ HOW_SOME, "calls look like any other task",
					       "build with `strip = false`" }
			: (struct found_fact){ HOW_EXACT, "each call; first seen where spawning "
							  "was inlined" };
	facts[FACT_ENDS] = (struct found_fact){ HOW_EXACT };
	facts[FACT_PANICS] =
		(struct found_fact){ HOW_EXACT, "distinguished from those that the program "
						"catches" };
}
