// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is seen of the tasks of all runtimes alike. */
#include "runtime/facts.h"

#include "runtime/discover.h"

static const struct found_fact unusable = { HOW_NOT, "debug info is there, but cannot be used" };

struct found_fact fact_no_lines(const struct discovery *d)
{
	return d->is_debug_info_unusable
		       ? unusable
		       : (struct found_fact){ HOW_NOT, "there are no line tables",
					      "build with `debug = \"line-tables-only\"`" };
}

struct found_fact fact_awaits(const struct discovery *d, const struct found_runtime *r)
{
	uint32_t nr = 0, nr_exact = 0;

	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].runtime == r - d->runtimes &&
		    wire_is_task_table(d->tables[i].plan.kind)) {
			nr++;
			nr_exact += d->tables[i].nr_candidates == 1;
		}
	if (d->is_debug_info_unusable)
		return unusable;
	if (d->rung < RUNG_FULL)
		return (struct found_fact){ HOW_NOT, "debug info does not describe types",
					    "build with `debug = \"full\"`" };
	if (!nr)
		return (struct found_fact){ HOW_SOME, "those of block_on, where debug info tells "
						      "where its future lies" };
	if (nr_exact < nr)
		return (struct found_fact){ HOW_SOME,
					    "not of tables that stand for several types" };
	return (struct found_fact){ HOW_EXACT, "line by line, down to the leaf" };
}
