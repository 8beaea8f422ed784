// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * From a value that may hold a future down to what it waits for, by one rule for all:
 *
 *	a coroutine	what it awaits, at the await point where it stands
 *	an enum		what its active variant has
 *	a struct, array	each member that can hold a future
 *	a pointer	that owns what it leads to (Box, &mut); others belong to somebody else
 *	a fat pointer	what its table says it leads to
 *	PollFn		also what its closure borrows: so join!, select! and others are made
 *	a collection	by a rule of its own (runtime/leaf_rules.h)
 *
 * Each object that is met is copied whole into the snapshot before it is looked at.
 */
#ifndef WALK_DESCEND_H
#define WALK_DESCEND_H

#include "walk/census.h"
#include "walk/path.h"
#include "walk/tree.h"

struct descent {
	const struct census *census;
	struct types *types; /* one for each object */
	struct snapshot *snapshot;
	struct tree *tree;
	uint64_t task_addr; /* whose future it is */
	bool wants_locals;
	bool wants_ties; /* guards, and futures that are kept and not polled */
	/* Something cannot be: read while it changed, or no such thing at all. */
	bool is_torn;
	bool is_kept; /* what is visited now is kept, and not polled */
	unsigned level;
};

/* Reads what the rule of its type tells of a leaf that is in the tree (leaves.c). */
void read_leaf(struct descent *d, struct value v, uint32_t node);
/* Notes the locks that variables of a coroutine hold (guards.c). */
void read_guards(struct descent *d, struct value v, uint32_t node);
/* Notes the variables of plain types that a coroutine has, which stands at an await (locals.c). */
void read_locals(struct descent *d, struct value v, uint32_t node);

/* `object` is the one that knows the type. */
void descend(struct descent *d, uint32_t object, uint32_t type, uint64_t addr);

#endif
