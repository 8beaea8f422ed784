// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What ties tasks to each other: locks that one has and another wants, tasks that wait for tasks.
 * Gathered tree by tree; from all of them together follows who can never go on:
 *
 *	lock-cycle	tasks that wait for each other's locks
 *	semaphore-cycle	the same with permits of semaphores
 *	await-cycle	tasks that wait for each other's end
 *	futurelock	a lock belongs to a future that nobody polls, and who should poll it waits
 *			for the lock
 *	no-waker	a task waits, and nothing can wake it
 *
 * Who holds a lock is not kept by any runtime: it is known by guards among the variables of
 * coroutines. A guard that was moved away, as by drop(), leaves its bytes behind, so several tasks
 * may seem to have a lock. Who waits for it has it only if nobody else does, and so has one whose
 * coroutine has moved variables away, of which nobody knows whether the guard was one; if more than
 * one is left, nothing follows from it. A task that waits for several things at once may go on with
 * another of them, and is not said to be stuck.
 *
 * Of an RwLock several may read. Its queue tells how many they are: who is first in it has all the
 * permits but theirs. If as many seem to have it, and all of them wait for that very lock, to
 *write, they are stuck.
 *
 * Of a semaphore many may have permits, and each of them may let go: who waits for it is stuck if
 * all are that seem to have some. So are those who stand in its queue, and with them what the queue
 * keeps for them, unless one of them may leave it. How many permits there are nobody keeps, so some
 * may be where they are not seen, and anybody may add more: it is likely, and not certain.
 */
#ifndef WALK_TIES_H
#define WALK_TIES_H

#include "walk/census.h"
#include "walk/tree.h"

enum tie_kind {
	TIE_WANTS_LOCK, /* and nothing else */
	TIE_WANTS_PERMIT,
	TIE_JOINS, /* and waits for nothing else */
	TIE_HAS_LOCK,
	TIE_KEEPS_LOCK, /* in a future that it does not poll */
	TIE_QUEUES,	/* for a semaphore, but may leave its queue */
	TIE_WAITS,	/* for whatever it is */
};

struct tie {
	uint32_t task; /* in the census */
	enum tie_kind kind;
	uint64_t addr;	  /* of the lock, or of the task that it waits for */
	const char *file; /* where it waits; "" when unknown */
	uint32_t line;
	bool is_sure;	  /* the lock's own queue tells who was given it, and there is one only */
	bool may_be_gone; /* it has a lock, or had it: nothing follows from it */
};

struct ties {
	const struct census *census;
	/* TIE_WANTS_LOCK, TIE_WANTS_PERMIT, TIE_JOINS: one of a task at most */
	VEC(struct tie) wants;
	/* TIE_HAS_LOCK, TIE_KEEPS_LOCK; when settled by lock, and one of a task at most */
	VEC(struct tie) holds;
	VEC(struct tie) idle; /* TIE_WAITS */
	/* Whose going on may let others have a permit, when settled by semaphore: all that are or
	 * were in `holds`, and TIE_QUEUES. */
	VEC(struct tie) frees;
	struct map tasks; /* by address: in the census */
	struct map out;	  /* by RwLock: permits that who is first in its queue has not got */
};

/* A task of a finding: where it waits, and who holds it up. */
struct stuck_task {
	const struct tie *wants;
	const struct tie *held_by; /* NULL: it is no lock */
};

struct stuck {
	const char *rule;
	/* of a cycle: each is held up by the next, the last by the first */
	VEC(struct stuck_task) tasks;
};

void ties_init(struct ties *t, const struct census *c);
void ties_release(struct ties *t);
/* Not from several threads at once. */
void ties_add(struct ties *t, size_t task, const struct tree *tree);
/* When all are added: orders them, and leaves out who cannot hold a lock, for what follows. */
void ties_settle(struct ties *t);

/* Tasks of which one has a lock, by their order in the census; of an RwLock it may be several. */
struct holders {
	const struct tie *v;
	size_t nr; /* 0: nobody knows */
};

/* Of the lock that leaves call by this address. */
struct holders ties_holders(const struct ties *t, uint64_t lock_addr);

/* Or else each of its tasks is stuck by itself. */
static inline bool ties_is_cycle(const struct stuck *s)
{
	return s->tasks.v[0].wants->kind != TIE_WAITS;
}

/* Does it follow from guards, which may have been moved away? */
bool ties_is_by_guards(const struct stuck *s);
/* The same tasks, held up by the same? They may be of different ties. */
bool ties_is_same(const struct stuck *a, const struct stuck *b);

struct stuck_list {
	VEC(struct stuck) all;
};

/* Adds what is wrong. To be released by stuck_release. */
void ties_find_cycles(const struct ties *t, struct stuck_list *found);
/* Reads all memory once more. */
void ties_find_without_waker(const struct ties *t, struct stuck_list *found);
void stuck_release(struct stuck_list *found);

#endif
