// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a task waits for: its future, the one that awaits, and so on down to the leaves. Nodes stand
 * in the order of a depth-first walk, each behind its parent. Strings and layouts are borrowed from
 * the objects.
 */
#ifndef WALK_TREE_H
#define WALK_TREE_H

#include "base/vec.h"
#include "future/leaf.h"
#include "runtime/source.h"
#include "symbol/layout.h"

#define TREE_NO_NODE UINT32_MAX

enum tree_state {
	TREE_WAITS,	  /* for what is below it, or, as a leaf, for what its kind says */
	TREE_NOT_STARTED, /* was never polled */
	TREE_DONE,	  /* has finished, and is kept by the future around it */
	TREE_PANICKED,
	TREE_DISABLED, /* an arm of select! that is not polled any more */
};

struct tree_node {
	const struct layout *type;
	const struct layout_variant *variant; /* of a coroutine: where it is; of an enum; NULL */
	enum source_owner owner;	      /* of the line where it is, if it has one */
	uint32_t parent;		      /* TREE_NO_NODE: the task's own future */
	uint32_t depth;
	uint32_t nr_children;
	enum tree_state state;
	uint64_t addr;
	uint32_t object, type_id; /* whose type it is, and its number there */
	enum leaf_kind leaf;	  /* LEAF_KIND_NONE: it is none */
	bool is_never;		  /* a leaf that is made to wait for ever */
	uint32_t first_value, nr_values;
	uint32_t first_local, nr_locals;
	bool is_cut; /* what is below it is not there, or not all of it */
};

/* What is known of a leaf. */
struct tree_value {
	const struct leaf_field *field;
	/* LEAF_INSTANT: nanoseconds of CLOCK_MONOTONIC; LEAF_TASK: its id */
	uint64_t number;
	uint64_t highest;      /* where equal trees were folded: number is the lowest of them */
	uint64_t task_addr;    /* LEAF_TASK */
	const char *task_type; /* LEAF_TASK: "" when nothing names it */
};

/* A lock that a variable of a coroutine holds, as far as can be known. */
struct tree_guard {
	uint32_t node;
	uint64_t lock_addr;
	bool may_be_gone; /* a variable beside it, or it itself, was moved away */
};

/* A variable of plain type that a coroutine keeps, or has captured. */
struct tree_local {
	const char *name;
	const struct layout *type;
	unsigned __int128 number; /* the bits of its value */
};

struct tree {
	VEC(struct tree_node) nodes;
	VEC(struct tree_value) values;
	VEC(struct tree_local) locals;
	VEC(struct tree_guard) guards;
	/* Futures that were polled before, and that coroutines of this tree keep without awaiting
	 * them now; NULL: there are none. */
	struct tree *kept;
	bool is_cut; /* it goes on, but is too large or deep */
};

void tree_release(struct tree *t);
void tree_reset(struct tree *t);
struct tree *tree_copy(const struct tree *t); /* to be released and freed */

/* An async fn, block or closure. */
static inline bool tree_is_generated(const struct tree_node *n)
{
	return n->type->kind == LAYOUT_COROUTINE;
}

/* Has it a place in the source where it waits? */
static inline bool tree_has_place(const struct tree_node *n)
{
	return tree_is_generated(n) && n->variant && n->variant->file[0];
}

/*
 * Of all that a tree says, what says most: the innermost line of the program's own code before ways
 * part (join!, select!), or of a library's where there is none. TREE_NO_NODE: there is no line.
 */
uint32_t tree_main_place(const struct tree *t);
/* The leaf that the nth way ends in; TREE_NO_NODE: there are not so many. */
uint32_t tree_leaf(const struct tree *t, uint32_t nth);
/* Does all that it waits for never happen, and on purpose? */
bool tree_waits_for_ever(const struct tree *t);
/* Apart from where it stands in the tree, and from values. */
bool tree_node_is_equal(const struct tree_node *a, const struct tree_node *b);
/* Equal trees wait for the same things at the same places; values may differ. */
uint64_t tree_hash(const struct tree *t);
bool tree_is_equal(const struct tree *a, const struct tree *b);

#endif
