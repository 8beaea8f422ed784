// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the idle tasks of a process stand, by the recipes that its agent has (wire/region.h): the
 * same way, gone from outside, in copies of the tasks' memory. Nobody is stopped, so a task may be
 * polled while it is looked at: what is told of it is sure only if it has not begun to run since.
 * Who asks knows when tasks ran, and compares.
 */
#ifndef WALK_STANDS_H
#define WALK_STANDS_H

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "runtime/discover.h"

struct memory;

#define STANDS_MAX	  (1u << 20)
#define STANDS_MAX_TRAILS 32768

/* Of a table, in the order of the discovery's; recipe 0: nothing is known of its tasks. */
struct stands_table {
	uint32_t recipe; /* an edge */
	uint16_t type;	 /* goes into stands */
};

struct stands_object {
	const struct discovery *d;
	uint64_t base;
	const struct stands_table *tables; /* d->nr_tables of them */
};

/* The choices of a walk, as in struct wire_path. */
struct stands_trail {
	uint32_t recipe;
	uint32_t nr_choices;
	uint32_t choices[WIRE_MAX_CHOICES];
};

struct stand {
	uint64_t task;	/* its id, or its address where the runtime has none */
	uint64_t ticks; /* since then it was looked at */
	uint32_t trail; /* index */
	uint16_t type;
};

struct stands {
	/* given */
	enum clock_kind clock;
	VEC(struct stands_object) objects;
	VEC(struct wire_node) nodes;
	VEC(struct wire_edge) edges;
	struct map dyns; /* address of a table -> edge */
	/* found */
	VEC(struct stand) list;
	VEC(struct stands_trail) trails;
	struct map by_hash; /* of a trail: index + 1 */
};

/* False: the process went away meanwhile, or memory was given up: not all is there. */
bool stands_look(struct stands *s, struct memory *m);
void stands_release(struct stands *s);
/* Two walks that chose the same have the same. */
uint64_t stands_hash(uint32_t recipe, const uint32_t *choices, uint32_t nr);

#endif
