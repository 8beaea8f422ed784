// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Every task that is alive: a live task's header holds the address of its table, so whoever looks
 * for these addresses in all writable memory finds them all, whatever list or queue they are in.
 * What was true of a task when its header was read may be over by now.
 */
#ifndef WALK_CENSUS_H
#define WALK_CENSUS_H

#include "base/map.h"
#include "runtime/task.h"
#include "walk/objects.h"

struct census_table {
	const struct found_table *found;
	const struct task_shape *shape; /* NULL: a root future, which has no table (roots.h) */
	uint32_t object;		/* index into objects */
	uint64_t addr;
	struct task_place root; /* of a root future, which has no table and no shape (roots.h) */
};

struct census_task {
	uint64_t addr;
	uint64_t id; /* the runtime's own, or, where it has none, the address */
	uint32_t table;
	uint8_t state;	    /* enum task_state: idle, scheduled or running */
	uint8_t table_word; /* of the header */
	bool may_be_copy;
	uint8_t nr_wakers; /* at least, as task_look has them */
};

struct census {
	struct memory *memory;
	const struct objects *objects;
	VEC(struct census_table) tables;
	struct map by_addr;		 /* of tables: index */
	VEC(struct census_task) tasks;	 /* by runtime and id; without the runtimes' own helpers */
	VEC(struct found_table *) roots; /* what stands for a table */
	VEC(uint32_t) rootless; /* threads in block_on whose future was not found (roots.h) */
	VEC(char *) names;
	uint64_t nr_over;   /* tasks of which only the output is left */
	uint64_t nr_copies; /* left behind on stacks and in the heap */
	uint64_t scanned_bytes;
};

void census_init(struct census *c, struct memory *m, const struct objects *o);
void census_release(struct census *c);
/* Is there a task at this address, and be it over? Fills in all but may_be_copy. */
bool census_find(const struct census *c, uint64_t addr, struct census_task *task);

#endif
