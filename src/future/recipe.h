// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Recipes: how the agent follows the futures of tasks in memory (wire/region.h), compiled from what
 * debug info says of their types; and what the choices that it made on its way mean.
 *
 * A node is made for each type at which the way parts: coroutines, enums, pointers, trait objects,
 * values with several futures. Whatever lies between is an offset in an edge.
 */
#ifndef FUTURE_RECIPE_H
#define FUTURE_RECIPE_H

#include "future/parts.h"
#include "runtime/task.h"
#include "trace/trace.h"
#include "wire/region.h"

#define RECIPE_MAX_BOOKS 16

#define RECIPE_NO_TYPE	 UINT32_MAX

struct recipe_book; /* the recipes of one object, while they are made */

/* Which of the ways an edge is. */
struct recipe_meaning {
	uint32_t variant; /* of the type of its node, PARTS_NO_VARIANT: it has none of that value */
	uint32_t type;	  /* of a trait object and of the first edge: what it leads to */
};

/* Types that lead on from a value: in recipes.parts. */
struct recipe_parts {
	uint32_t first, nr;
};

struct recipe_variant {
	const char *file; /* of the await point, "" when unknown */
	uint32_t line, last_line;
	enum trace_step_state state;
	struct recipe_parts parts;
};

/* What is known of a type that a path may pass, by its number in recipes.types. */
struct recipe_type {
	const char *name;     /* as debug info has it */
	const char *readable; /* NULL: the same */
	const char *function; /* of a coroutine, or "" */
	uint32_t first_variant, nr_variants;
	struct recipe_parts parts; /* of a value without variants, or where none is known */
	enum parts_role role;
	bool is_coroutine, is_step, is_borrow, holds;
	bool has_node; /* a walk makes a choice there, or follows a pointer */
};

/* Where a type is described, in the process that reads debug info. */
struct recipe_source {
	struct recipe_book *book;
	uint32_t type;
};

struct recipes {
	VEC(struct wire_node) nodes;	     /* [0]: the end of a branch */
	VEC(struct wire_edge) edges;	     /* [0]: a trait object that is not known */
	VEC(struct recipe_meaning) meanings; /* of the edges */
	VEC(struct wire_dyn) dyns;
	VEC(struct recipe_type) types;
	VEC(struct recipe_variant) variants;
	VEC(uint32_t) parts; /* types */
	/* of those who make them */
	VEC(struct recipe_book *) books;
	VEC(struct recipe_source) sources; /* of the types */
	size_t nr_described;
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
/* Fills in the types of what was compiled, which recipe_explain needs. Strings are the layouts'. */
void recipes_describe(struct recipes *r);

/*
 * Adds the recipes of an object to those of a process. Returns by how much the numbers of its edges
 * grew, RECIPES_NO_ROOM: nothing was added. Strings are shared.
 */
#define RECIPES_NO_ROOM UINT32_MAX
uint32_t recipes_join(struct recipes *to, const struct recipes *from);
/* The same of its tables of trait objects, where it lies at base; `by` is what was returned. */
void recipes_join_dyns(struct recipes *to, const struct recipes *from, uint32_t by, uint64_t base);

/* One future on a path; see struct trace_step, which it becomes. */
struct recipe_step {
	uint32_t outer;		/* index of a step before it, TRACE_NO_STEP */
	uint32_t type, variant; /* numbers in recipes.types, and among its variants */
	bool is_last;		/* of its branch */
	bool is_borrowed;	/* by the step around it */
};

struct recipe_steps {
	VEC(struct recipe_step) steps;
};

/*
 * What the choices of a walk from an edge on mean. False: they do not fit, and what was found up to
 * there is in out. Appends to out.
 */
bool recipe_explain(const struct recipes *r, uint32_t edge, const uint32_t *choices, unsigned nr,
		    struct recipe_steps *out);
/* Strings are the recipes' own. step is one of all. */
struct trace_step recipe_step_text(const struct recipes *r, const struct recipe_steps *all,
				   const struct recipe_step *step);

#endif
