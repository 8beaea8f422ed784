// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by the files that make recipes; nobody else includes it. */
#ifndef FUTURE_RECIPE_PRIV_H
#define FUTURE_RECIPE_PRIV_H

#include "base/map.h"
#include "future/recipe.h"

#define RECIPE_MAX_DEPTH 128 /* of values inside of values */

struct recipe_book {
	struct recipes *recipes;
	struct parts parts;
	uint64_t base;
	struct map spots;   /* by type: node, and offset above it */
	struct map starts;  /* by offset and type of a future in its task: the first edge */
	struct map numbers; /* by type: number in recipes.types + 1 */
	bool has_dyns;	    /* all its tables of trait objects are in dyns */
	bool is_full;
};

/* The number of a type that is described when recipes_describe comes to it. */
uint32_t recipe_type_number(struct recipe_book *b, uint32_t type);

#endif
