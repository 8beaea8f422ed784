// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Shared by `futrace ps` and `futrace tree`: whose memory is looked at, the tasks that are in it,
 * and how the two name things.
 */
#ifndef CMD_LOOK_H
#define CMD_LOOK_H

#include "cmd/command.h"
#include "walk/peers.h"
#include "walk/walker.h"

struct look {
	struct memory *memory;
	struct objects objects;
	struct census census;
	struct peers peers; /* of the process; filled when they are asked for */
};

/* What is to be looked at. */
struct look_opts {
	const char *core; /* NULL: the process that the only operand names */
	const char *exe;  /* the core file's program, NULL: it is where it was */
	bool no_cache;
};

/*
 * Takes a census. Returns EXIT_OK, or says what is wrong and returns the exit status. look_close in
 * any case.
 */
int look_open(struct look *l, const struct look_opts *o, int nr, char **argv);
void look_close(struct look *l);
/* Still the same program? If not, says so and returns the exit status. */
int look_check(struct look *l);
/* Says what could not be seen, and why. */
void look_notes(const struct look *l);
/* filter: what tasks were to fit; NULL: all were wanted. */
void look_note_none(const struct look *l, const char *filter);

const char *look_state_name(enum task_state state);
const struct found_table *look_table(const struct look *l, const struct census_task *t);
const struct found_runtime *look_runtime(const struct look *l, const struct census_task *t);
/* Does debug info describe types? If not, look_notes says why. */
bool look_has_layouts(const struct look *l, const struct census_task *t);
/* Index among the runtimes of all objects. */
uint32_t look_runtime_id(const struct look *l, const struct census_task *t);
/* A root future, which was found by trying. */
bool look_is_guess(const struct look *l, const struct census_task *t);
/* Its number, or the address that stands in its place. */
void look_add_id(const struct census_task *t, struct strbuf *out);
/* "task 7"; of a root future, which is none, "thread 4711". */
void look_add_who(const struct census *c, const struct census_task *t, struct strbuf *out);
/* Readable, and the same for all tasks of a table; "table 0x…" when nothing names it. */
/* A Box<dyn Future>: what it holds says more than its type. */
bool look_is_boxed(const struct look *l, const struct census_task *t);
void look_add_type(const struct look *l, const struct census_task *t, struct strbuf *out);

/* Has the task's type, or a future in its tree, a name, function or file that fits? NULL fits all.
 */
bool look_fits(const struct look *l, const char *pattern, const struct census_task *t,
	       const struct tree *tree);
/* CLOCK_MONOTONIC of the memory's owner, 0: not known, of a core file. */
uint64_t look_now(const struct look *l);

#endif
