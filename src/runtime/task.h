// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a task looks like in memory, to somebody who finds it there: where its header has the
 * address of its table, what state it is in, and where in it the future lies. Each runtime tells by
 * its `struct runtime`; who reads memory knows no runtime.
 */
#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include "runtime/discover.h"
#include "symbol/layout.h"

enum task_state {
	TASK_NONE, /* it is none: freed memory, a copy that was left behind, a chance */
	TASK_OVER, /* only its output is left, or not even that */
	TASK_IDLE, /* waits for something */
	TASK_SCHEDULED,
	TASK_RUNNING, /* its future changes while we look */
};

struct task_look {
	enum task_state state;
	uint64_t id; /* the runtime's own, 0: it has none */
	/* It looks as one that was just made, and as the copies of it that were left behind on the
	 * stack where it was made. If it has no id, who made it and who runs it have its address.
	 */
	bool may_be_copy;
	/* Of an idle one: who can wake it, with what is left of nr_kept(). */
	uint64_t nr_wakers;
};

/* Where the future of all tasks of a table lies. */
struct task_place {
	uint64_t task_bytes; /* of the whole task */
	uint64_t align;	     /* of its address; 0: not known */
	uint64_t off;	     /* of the value that holds the future, if it is not over */
	uint32_t type;	     /* of that value */
};

/* Functions in whose frame, or in that of a caller, a root future lies. */
struct root_shape {
	const char *symbol; /* a part of the mangled name, legacy or v0 */
	const char *param;  /* the type argument that is the future */
	/* Or, where this is not NULL, is a closure whose type has this part, and the future the
	 * last type argument of that. */
	const char *closure;
	bool is_pinned; /* in the function's own frame, where it waits for the future by a parker */
	bool is_argument; /* a pointer to it is given to the function, which drives the runtime */
	bool has_workers; /* the runtime's own threads wait there as well */
	bool is_entry; /* nothing but what its caller waits for is known by it, and it begins there
			*/
};

#define TASK_HEADER_BYTES    48 /* as much of a task as look() may read */
#define TASK_MAX_TABLE_WORDS 3

struct task_shape {
	/* Words of a header that may hold the address of the table, the likeliest first. Returns
	 * how many there are. */
	unsigned (*table_words)(const struct found_table *t, uint8_t words[TASK_MAX_TABLE_WORDS]);
	/* Which word holds the state, if the table's address is in table_word. */
	unsigned (*state_word)(unsigned table_word);
	/* All but the id. header: the first TASK_HEADER_BYTES of a task. */
	struct task_look (*look)(const struct found_table *t, const uint64_t *header,
				 unsigned table_word);
	uint32_t (*id_off)(const struct found_table *t); /* in the task, 0: there is none */
	/* How many of an idle task's nr_wakers wake nobody: an executor has them, to end it.
	 * future: its type, as debug info has it. NULL: none. */
	unsigned (*nr_kept)(const char *future);
	/* Where its scheduler has a word that is not 0 if all tasks of it stay on their thread.
	 * t NULL: the same in what the thread of a root drives. 0: debug info does not tell, or
	 * tables do. NULL: they always do. */
	uint32_t (*local_off)(struct layouts *l, const struct found_table *t);
	/* False: debug info does not tell. */
	bool (*locate)(struct layouts *l, const struct found_table *t, struct task_place *place);
	const struct root_shape *roots; /* to symbol NULL; NULL: none is known */
	/* What the type begins with that it puts around the future of a root; NULL: there is none.
	 */
	const char *shell;
	/* Of runtimes that are made of this one, whose root has a future of that type: an index
	 * into the discovery's. NULL: `runtime` itself's. */
	uint32_t (*root_maker)(const struct discovery *d, uint32_t runtime, const char *future);
};

/* Never NULL. */
const struct task_shape *task_shape(const struct discovery *d, const struct found_table *t);
const struct task_shape *task_shape_of(const struct found_runtime *r);

/*
 * Follows a path of members that lie inside of each other, "core.stage": a member that a type does
 * not have itself is looked for in what it is made of, so wrappers need not be named. False: there
 * is none, and nothing is changed.
 */
bool task_member(struct layouts *l, const char *path, uint32_t *type, uint64_t *off);

#endif
