// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a walk wants to know of the types of one object, worked out once: is it worth looking into,
 * and how. A walk only enters what can hold a future. Layouts are shared by threads and taken under
 * a lock; each thread keeps what it took.
 */
#ifndef WALK_TYPES_H
#define WALK_TYPES_H

#include <pthread.h>

#include "base/map.h"
#include "base/vec.h"
#include "future/leaf.h"
#include "future/role.h"
#include "runtime/source.h"
#include "walk/objects.h"

/* Where paths (path.h) lead to in values of a type. */
struct type_part {
	const char *path; /* that address, not that text */
	uint32_t type;
	uint64_t off;
	bool is_found;	   /* or else there is no such part */
	bool needs_memory; /* it is not the same in all values */
};

struct type {
	const struct layout *layout;
	enum type_role role;
	bool holds;    /* a future, in itself or behind what it owns */
	bool is_node;  /* a future that a tree shows */
	bool is_never; /* one that is made to wait for ever */
	bool is_fed;   /* see leaf_is_fed */
	bool is_closure;
	bool polls_closure; /* PollFn: what its closure borrows is what it polls */
	bool is_tuple;
	const struct leaf_rule *leaf;
	const struct list_rule *list;
	const struct shared_rule *shared; /* of TYPE_ARC */
	enum source_owner owner;	  /* of a coroutine's body */
	const struct guard_rule *guard;
	bool has_guard; /* in itself, if is_searched: ask types_has_guard */
	bool is_searched;
	bool is_counted;	     /* what Arc and Rc point to: counters, and the value */
	VEC(struct type_part) parts; /* that were asked for */
};

/* A variable of the program. */
struct type_static {
	const char *symbol; /* that it was looked for by: that address, not that text */
	uint64_t addr;	    /* 0: there is none, or no more */
};

struct types {
	const struct object *object;
	pthread_mutex_t *lock; /* of the object's layouts */
	VEC(struct type *) known;
	struct map tables; /* address of a table of a dyn -> type */
	VEC(struct type_static) statics;
};

void types_init(struct types *t, const struct object *o, pthread_mutex_t *lock);
void types_release(struct types *t);
/* Takes in a type that is not known yet. */
const struct type *types_learn(struct types *t, uint32_t id);
/* May a value of it hold a lock, itself or in a part of it? */
bool types_has_guard(struct types *t, uint32_t id);
/* Keeps it; NULL: there is no such type. */
const struct type_part *types_add_part(struct types *t, uint32_t id, const struct type_part *p);
/* The type behind a table of a `dyn Future`, LAYOUT_NONE: not known. */
uint32_t types_of_table(struct types *t, uint64_t addr);
/* By its full name, LAYOUT_NONE: there is none. */
uint32_t types_named(struct types *t, const char *name);
/*
 * The nth variable with that part in its mangled name, 0: there are not so many, or no symbols.
 * Only who asks pays for reading symbols, and once.
 */
uint64_t types_static(struct types *t, const char *symbol, uint32_t nth);

/* Never NULL. */
static inline const struct type *types_get(struct types *t, uint32_t id)
{
	if (likely(id < t->known.nr && t->known.v[id]))
		return t->known.v[id];
	return types_learn(t, id);
}

#endif
