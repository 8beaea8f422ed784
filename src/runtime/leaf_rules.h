// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What futures wait for in the end, and how libraries keep many futures together: told as data, by
 * names of types and members as debug info has them, so that it survives new versions that only
 * move things around. Each runtime has its own rules (struct runtime); future/library_leaves.c has
 * those of crates that belong to none. future/leaf.h finds them.
 *
 * A path leads from a value to another one, "semaphore.*.permits":
 *
 *	name	a member; of an enum, of the active variant. What a type does not have itself is
 *		looked for in what it is made of: UnsafeCell, Mutex and the like are not named
 *	0	of an array, that element
 *	*	what a pointer leads to: &T, Box, NonNull; and, behind their counters, Arc and Rc
 *	^	at the beginning: not from the leaf, but from what is above it and told its kind
 *
 * A number at the end of a path may be wrapped as well (AtomicUsize). What lies behind a pointer
 * belongs to others, too: it is read once, as it happens to be.
 */
#ifndef RUNTIME_LEAF_RULES_H
#define RUNTIME_LEAF_RULES_H

#include "base/leaf_kind.h"
#include "base/util.h"

enum leaf_unit {
	LEAF_NUMBER,   /* an integer; `shift` and `mask` choose bits of it */
	LEAF_WORD,     /* the same, but told by words[value]; where that is NULL, not at all */
	LEAF_ADDRESS,  /* where the value at the path lies: tells two locks apart */
	LEAF_INSTANT,  /* of std: seconds and nanoseconds of CLOCK_MONOTONIC; told as time left */
	LEAF_TASK,     /* a pointer to a task's header: told as that task's id */
	LEAF_EPOLL,    /* the address at the path is what an epoll set knows a file descriptor by */
	LEAF_FD,       /* a file descriptor: an integer of 32 bits */
	LEAF_CONSTANT, /* the number in `mask`, if there is anything at the path */
	LEAF_TEXT,     /* `text`, if there is anything at the path */
	LEAF_WAKER,    /* `text`, if the data of a waker at the path is this very task */
	/* An instant; at `next`, milliseconds that had passed since when the runtime looked at the
	 * clock the last time. A core file has no other clock. */
	LEAF_CLOCK,
	LEAF_QUEUE, /* a pointer to the first in a queue: told as our place in it, from 1 */
	LEAF_ROW,   /* a number that an element of `row` has as well: told as which one that is */
};

/* Equal elements that a static variable leads to. */
struct leaf_row {
	const char *symbol; /* of the variable: a part of its name, the same in both manglings */
	const char *type;   /* of the variable */
	const char *first, *count; /* paths: a pointer to the first element, and their number */
	const char *same;	   /* in an element: what ours is compared with */
	uint64_t last; /* what the last one stands for; the first is 0 or 1, by their number */
};

struct leaf_field {
	const char *key; /* in JSON; NULL ends the list */
	const char *path;
	enum leaf_unit unit;
	uint8_t shift;
	uint64_t mask;		  /* after the shift, 0: all bits */
	const char *const *words; /* LEAF_WORD, and LEAF_ROW where it is not told by its number */
	uint8_t nr_words;
	const char *text;
	/* LEAF_QUEUE: from one to the next; and, from the leaf, to our own. LEAF_CLOCK: a path */
	const char *next, *own;
	const struct leaf_row *row;
};

#define LEAF_MAX_FIELDS 13

/* A leaf is known better by who waits for it: a semaphore may be that of a lock. */
struct leaf_above {
	const char *prefix;  /* of a type above it; NULL ends the list */
	enum leaf_kind kind; /* LEAF_KIND_NONE: as before */
	bool is_parent;	     /* it must be right above */
	struct leaf_field fields[5];
};

struct leaf_rule {
	const char *type; /* its full name; "…<": whatever its arguments */
	enum leaf_kind kind;
	const struct leaf_above
		*above; /* the first of the list that fits gives the kind; or NULL */
	/* Of several with the same key the first that can be read. */
	struct leaf_field fields[LEAF_MAX_FIELDS + 1];
};

/* A variable of this type holds a lock. */
struct guard_rule {
	const char *type; /* as above */
	const char *lock; /* where the lock is that leaves call by its address */
};

/* Futures in a row or a chain. */
struct list_rule {
	const char *type;     /* as above */
	const char *heads[2]; /* of chains: a pointer to the first node */
	const char *next;     /* in a node: a pointer to the next */
	const char *value;    /* in a node */
	/* or, of a row: a pointer to the first element, and their number */
	const char *first, *count;
	const char *param; /* the type argument that an element is of */
};

/* Shared by Arc, and yet followed from a future that has it. */
struct shared_rule {
	const char *type; /* of the Arc: a prefix */
	/* In what is shared, if any of those who have it may poll it: a number, 0 while nobody
	 * does, 1 while somebody does, and other ones when it is over. */
	const char *turn;
};

struct leaf_rules {
	const struct leaf_rule *leaves;
	size_t nr_leaves;
	const struct list_rule *lists;
	size_t nr_lists;
	const struct guard_rule *guards;
	size_t nr_guards;
	const struct shared_rule *shared;
	size_t nr_shared;
	/* Futures and streams that never wait, and so say nothing, up to NULL: prefixes. */
	const char *const *ready;
	/* Streams that take what they give from another one, their first type argument, the same
	 * way. If that never waits, they wait for nothing but a future that they hold at times. */
	const char *const *fed;
	/* What is over when there is nothing left in it, the same way. */
	const char *const *passing;
	/* Futures that are made to wait for ever, the same way. */
	const char *const *never;
	/* What an executor does beside the future that it was given: it runs tasks, without end. A
	 * crate, and where in it: "::run::{async_block_env#0}"; or NULL. */
	const char *loop_crate, *loop;
};

#endif
