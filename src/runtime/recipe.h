// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Recipes: how the agent follows the futures of tasks in memory (wire/region.h), compiled from what
 * debug info says of their types; and what the choices that it made on its way mean.
 *
 * A node is made for each type at which the way parts: coroutines, enums, pointers, trait objects,
 * values with several futures. Whatever lies between is an offset in an edge.
 */
#ifndef RUNTIME_RECIPE_H
#define RUNTIME_RECIPE_H

#include "runtime/parts.h"
#include "runtime/task.h"
#include "wire/region.h"

#define RECIPE_MAX_BOOKS 16

struct recipe_book; /* the recipes of one object */

/* Which of the ways an edge is. */
struct recipe_meaning {
	uint32_t variant; /* of the type of its node, PARTS_NO_VARIANT: it has none of that value */
	uint32_t type;	  /* of a trait object and of the first edge: what it leads to */
	uint32_t book;
};

struct recipes {
	VEC(struct wire_node) nodes;	     /* [0]: the end of a branch */
	VEC(struct wire_edge) edges;	     /* [0]: a trait object that is not known */
	VEC(struct recipe_meaning) meanings; /* of the edges */
	VEC(struct wire_dyn) dyns;
	VEC(struct recipe_book *) books;
};

void recipes_init(struct recipes *r);
void recipes_release(struct recipes *r);
/* An object at that address. NULL: there are too many. The layouts are borrowed. */
struct recipe_book *recipes_add(struct recipes *r, struct layouts *l, uint64_t base);
/*
 * For the tasks of a table: the edge from a task to its future. 0: there is nothing to follow, or
 * no room.
 */
uint32_t recipe_compile(struct recipe_book *b, const struct task_place *place);

/* One future on a path; see struct trace_step, which it becomes. */
struct recipe_step {
	uint32_t outer; /* index of a step before it, TRACE_NO_STEP */
	uint32_t type, variant, book;
	bool is_last;	  /* of its branch */
	bool is_borrowed; /* by the step around it */
};

struct recipe_steps {
	VEC(struct recipe_step) steps;
};

/*
 * What the choices of a walk from an edge on mean. False: they do not fit, and what was found up to
 * there is in out. Appends to out.
 */
bool recipe_explain(struct recipes *r, uint32_t edge, const uint32_t *choices, unsigned nr,
		    struct recipe_steps *out);
/* Strings are the layouts' own. step is one of all. */
struct trace_step recipe_step_text(const struct recipes *r, const struct recipe_steps *all,
				   const struct recipe_step *step);

#endif
