// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where a task stands when it is about to be polled: its future is followed down to what it waits
 * for, by a recipe that the tool made of the debug info (wire/region.h). Part of the core: reads
 * the task's memory and the region, calls nothing.
 *
 * Who is about to poll a task is the only one who may touch its future, but for one: a runtime that
 * shuts down drops the futures of queued tasks. So whoever reads *announces* the task, and a
 * shutdown *closes* it first. The reader announces, takes its reference on the task (a locked
 * instruction, which it pays for anyhow: nothing behind it is looked at before the announcement can
 * be seen), and then looks whether the task is closed. A shutdown closes, by a locked instruction
 * as well, and then waits for those who have announced it. At least one of them sees the other.
 *
 * A shutdown wants to know as well where the task stands whose future it drops. It *takes* the task
 * as the runtime's own shutdown does, which may be done by whoever finds it idle: from then on
 * nobody polls it. Before the runtime's own is called it lets go again, as that must find the task
 * idle. Who is about to poll a closed task waits until the runtime's own has taken it: or he would
 * get it in between, and drop the future where nobody expects it.
 *
 * Tasks mostly stand where they stood before, or where others went from there. So each thread keeps
 * where the tasks stood that it polled last, and each path which one came after it. A path has
 * *checks*, which tell by a few loads that do not wait for each other whether a task stands there.
 * If it does not, the words that the paths of its type depend on, all together, choose a path by a
 * hash: that of the latest task that had the same in them. Only if it stands elsewhere the recipe
 * is followed.
 */
#ifndef AGENT_PATH_H
#define AGENT_PATH_H

#include "agent/core.h"

#define PATH_NR_WORDS 12 /* of a task, that choose a path: what lies deeper is left out */

/* A recipe, and the words that its paths depend on. */
struct path_start {
	uint32_t edge; /* that it begins with */
	uint32_t nr_words;
	uint32_t offs[PATH_NR_WORDS];
	uint64_t masks[PATH_NR_WORDS];
	uint64_t pad[5];
} __attribute__((aligned(64)));

#define PATH_NR_CHOSEN 4096 /* a power of two */

/* In wire_thread.reading, beside a task: the path is known, and the runtime is about to take the
 * task. It stays there until the thread reads another one. */
#define PATH_WAS_READ 1

/* By thread and by hash of the task: the path that was found there. Two tasks of one hash make for
 * bad guesses, no more. */
#define PATH_NR_LAST 512
extern uint16_t path_last[WIRE_MAX_THREADS][PATH_NR_LAST] HIDDEN;
extern uint16_t path_next[WIRE_MAX_PATHS] HIDDEN; /* by path: which came after it */

extern struct path_start path_starts[WIRE_MAX_TABLES + 1] HIDDEN; /* [0]: no recipe */

/*
 * Takes over the recipe of a table, if it is sound, for core_table.recipe; 0: it is not, or there
 * is none. After a fork, or for a table that was hooked before, `old` is what it was.
 */
uint32_t path_add(const struct wire_region *r, uint32_t edge, uint32_t old) HIDDEN;

/*
 * An object that lay there is gone. What else comes to lie there are not its tables of trait
 * objects, though they may have the same addresses.
 */
void path_forget(struct wire_region *r, uint64_t from, uint64_t to) HIDDEN;

/* The number of the path where a future stands, guessed or by the recipe; 0: it is not known. */
uint64_t path_find(uint64_t task, struct path_start *start) HIDDEN;
/* The same when the guess was wrong, which is corrected. */
uint64_t path_follow(uint64_t task, struct path_start *start, uint16_t *last) CORE_SLOW;
/* The checks of a path that need pointers, when the others are so. */
bool path_holds_far(const struct wire_path *p, uint64_t task) CORE_SLOW;
/* Is the task closed, of which some are? If so, returns when the runtime's own shutdown has it. */
bool path_is_closed(uint64_t task, struct wire_thread *mine) CORE_SLOW;

/*
 * Before a shutdown. False: nobody follows recipes. Then, until path_is_read says that nobody reads
 * the task any more, its future must not be touched.
 */
bool path_close(uint64_t task) HIDDEN;
bool path_is_read(uint64_t task, const struct wire_thread *mine) HIDDEN;
/* Has a thread read it last, and maybe the runtime does not have it yet? */
bool path_was_read(uint64_t task, const struct wire_thread *mine) HIDDEN;
/* Of a closed task that nobody reads: its path; 0: it is not known, or not idle. */
uint64_t path_of_closed(struct wire_thread *t, uint64_t task,
			const struct core_table *table) HIDDEN;
/* From here on only the runtime's own shutdown takes it. */
void path_leave_closed(uint64_t task) HIDDEN;
void path_unclose(uint64_t task) HIDDEN;

#endif
