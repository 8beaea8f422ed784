// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a type is to whoever follows futures through memory, by its layout alone: recipes, which the
 * agent follows (future/parts.h), and walks from outside (walk/types.h). Which of these ways each
 * of them takes is its own affair.
 */
#ifndef FUTURE_ROLE_H
#define FUTURE_ROLE_H

#include "symbol/layout.h"

enum type_role {
	TYPE_NOTHING, /* nothing to find in it */
	TYPE_COROUTINE,
	TYPE_ENUM,
	TYPE_STRUCT,
	TYPE_ARRAY,
	TYPE_POINTER, /* Box<T>, &mut T: the future's own */
	TYPE_ARC,     /* shared, but to be followed all the same */
	TYPE_DYN,     /* a fat pointer to some future */
	TYPE_TRAIT,   /* a box of something else, which may have one: a connection */
	TYPE_SLICE,   /* a fat pointer to several */
	TYPE_LIST,    /* a collection with a rule of its own */
	TYPE_LEAF,
};

enum type_role type_role(const struct layout *t);
/* A Box or &mut, fat or not: what it leads to is there as long as it is. */
bool type_owns(const struct layout *t);
bool type_is_box(const struct layout *t); /* one that is not fat */
/* A &mut to a future; not to the tuple that join! and select! make of theirs. */
bool type_borrows(const struct layout *t);
/* The environment of a closure, and a future that polls one: what that has captured. */
bool type_is_closure(const struct layout *t);
bool type_is_poll_fn(const struct layout *t);
/* A future that does more than to pass on to another what it is asked. */
bool type_is_future(const struct layout *t);
/* What Arc and Rc point to: counters, and the value. */
bool type_is_counted(const struct layout *t);

#endif
