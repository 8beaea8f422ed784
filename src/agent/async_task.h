// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks of async-task 4: what happens on their events. Part of the core, as freestanding as the
 * rest; hooks_async_task.c has the frames around the program's own functions.
 *
 * They have no id. Events name them by their address, which is used again when a task is gone: the
 * reader tells the lives apart.
 */
#ifndef AGENT_ASYNC_TASK_H
#define AGENT_ASYNC_TASK_H

#include "agent/probes.h"

/* What a waker table held, by its first word, which tasks have in their own table as well. */
struct async_waker {
	uint64_t clone; /* 0: free entry */
	uint64_t wake, wake_by_ref, drop;
	uint64_t is_broken; /* a task table with it could not be hooked: leave the wakers alone */
};
/* The entry; NULL: absent, or (make) no room. */
struct async_waker *async_waker_find(uint64_t clone, bool make) HIDDEN;

/* One run, on the stack of its hook. */
struct async_run {
	uint64_t task;
	uint64_t state; /* its state word when it began */
	const struct core_table *table;
	struct wire_thread *slot; /* NULL: nothing is recorded, no reference held */
	uint64_t run;		  /* its number, 0: it is not in the table of open runs */
	uint64_t began;		  /* ticks, where there is no number */
	bool is_held;		  /* a reference of ours keeps the task's memory */
	bool has_returned;	  /* otherwise a panic unwinds through the hook */
	bool was_woken;		  /* while it ran, so that it is queued again */
	bool is_watched;	  /* by probes: the two below are theirs */
	unsigned end_flags;	  /* EF_END_…, once it is over and was recorded or watched */
	struct probes_machine_run probe;
};

/* What is left to do for whoever gives the last reference back. */
enum async_last { ASYNC_NOT_LAST, ASYNC_DESTROY, ASYNC_SCHEDULE };

/* Tasks of this table have a number and a name of the runtime's, there. */
void async_set_own_name(const struct core_table *table, const struct wire_own_name *own) HIDDEN;
/* Before the first run of such a task, or before it is dropped: tells them. */
void async_tell_own_name(uint64_t task) HIDDEN;
/* What the runtime itself calls the task, whose future must be there: false: nothing. The text is
 * the future's own, and has no NUL. */
struct async_own_name {
	uint64_t number;
	const char *text;
	uint64_t len;
};
bool async_get_own_name(uint64_t task, const struct core_table *table,
			struct async_own_name *name) HIDDEN;
/* A runnable is run, or dropped. Sets run->table. */
enum async_enter { ASYNC_DROP = 1, ASYNC_WATCHED = 2 };
void async_enter(struct async_run *run, uint64_t task, unsigned how) HIDDEN;
/* Of a run that is entered and no drop: a task that was closed meanwhile is not polled. */
bool async_will_poll(const struct async_run *run) HIDDEN;
enum async_last async_leave(struct async_run *run) HIDDEN;
/* The schedule slot is called, on this stack (or WIRE_NO_STACK): a spawn, or an abort. Returns the
 * table. */
const struct core_table *async_schedule(uint64_t task, uint32_t stack) HIDDEN;
/* Of a task that is queued. */
const struct core_table *async_table_of(uint64_t task) HIDDEN;
/* Is a task that is being scheduled a new one? Is one that is being woken neither queued nor
 * running nor over? */
bool async_is_spawn(uint64_t task) HIDDEN;
bool async_is_idle(uint64_t task) HIDDEN;
/* A waker is used. Returns what its table held. */
const struct async_waker *async_wake(uint64_t task) HIDDEN;
/* The same when one is dropped. */
const struct async_waker *async_drop_waker(uint64_t task) HIDDEN;

#endif
