// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The files of a memory that hold an async runtime: where they are loaded, what was discovered of
 * them, and how their types lie in memory. A file whose task tables are not in memory as the file
 * has them is another build of it, and nothing is believed of it.
 */
#ifndef WALK_OBJECTS_H
#define WALK_OBJECTS_H

#include "memory/memory.h"
#include "runtime/discover.h"
#include "symbol/layout.h"

struct object {
	char *open_path; /* by which it can be opened now */
	uint64_t base;	 /* run-time address = base + va */
	struct discovery *d;
	struct layouts *layouts; /* NULL: there are none, and why_no_layouts says why */
	const char *why_no_layouts;
};

struct objects {
	VEC(struct object) list; /* the program first */
	uint32_t nr_without;	 /* without a runtime */
	uint32_t nr_unreadable;	 /* could not be looked at */
	uint32_t nr_other;	 /* another build than the one in memory */
	bool lacks_program;	 /* the program itself is one of these two */
	struct err note;	 /* about the first of them */
	char *cache_dir;	 /* or NULL */
};

/* cache_dir: NULL: nothing is kept. Finding none is no error. */
void objects_init(struct objects *o, struct memory *m, const char *cache_dir);
void objects_release(struct objects *o);
/* Does memory hold the tables of the file, if it lies there? */
bool objects_match(struct memory *m, uint64_t base, const struct discovery *d);
/* Opens debug info. Not for several threads. */
void objects_open_layouts(struct objects *o);

#endif
