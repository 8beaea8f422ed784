// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which of the lines on the stack of a spawn is the one that spawned? */
#ifndef CAPTURE_PLACE_CHOICE_H
#define CAPTURE_PLACE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "symbol/dwarf.h"

struct place_line {
	const struct dwarf_place *place; /* NULL: nothing is known of the frame's lines */
	bool may_be_merged;		 /* see struct source_function */
	bool is_in_local; /* its frame is, by its symbol, a function that spawns local tasks */
};

struct place_choice {
	/* The innermost line of the program's own. A spawn that no code of the program's led to (a
	 * library's task spawns another) is where that library did it. NULL: what only the runtime
	 * knows of has no place. */
	const struct dwarf_place *place;
	const char *scheduler; /* of a root: the flavour of its runtime; NULL: not known */
	bool is_local;	       /* it was spawned as a task that stays on its thread */
};

/* Lines are given from the inside out. */
struct place_choice place_choose(const struct place_line *lines, size_t nr);

#endif
