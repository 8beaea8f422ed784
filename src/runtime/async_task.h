// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by async_task.c (tables, by structure) and async_task_names.c (their types). */
#ifndef RUNTIME_ASYNC_TASK_H
#define RUNTIME_ASYNC_TASK_H

#include "runtime/runtime.h"

enum {
	ASYNC_TASK_SCHEDULE,
	ASYNC_TASK_DROP_FUTURE,
	ASYNC_TASK_GET_OUTPUT,
	ASYNC_TASK_DROP_REF,
	ASYNC_TASK_DESTROY,
	ASYNC_TASK_RUN,
	ASYNC_TASK_CLONE_WAKER,
	ASYNC_TASK_LAYOUT,
	ASYNC_TASK_NR_WORDS
};

void async_task_give_names(struct finding *f);
/* Where tasks have what async-std calls them; fns: all functions that debug info knows, sorted. */
void async_task_find_own_names(struct finding *f, struct dwarf_function *fns, size_t nr);
void async_task_judge(struct finding *f, const struct discovery *d, const struct found_runtime *r,
		      struct found_fact facts[NR_FACTS]);
extern const struct task_shape async_task_shape;
extern const struct leaf_rules async_task_leaves;
/* How waits for I/O and timers are seen, if they are. */
void async_task_find_waits(struct finding *f);

/*
 * Several runtimes are made of async-task, and a program may have more than one of them: the future
 * tells whose a task is. What does not tell stays with async-task itself.
 */
enum async_task_maker { ASYNC_TASK_ANY, ASYNC_TASK_STD, ASYNC_TASK_SMOL };

struct async_task_makers {
	const char *name, *version; /* of the runtime, were it the only one */
	uint32_t base, first;	    /* its number, and that of async-std's; nr_runtimes: only one */
};

/* Before tables get their names, and after. */
void async_task_makers_begin(struct finding *f, struct async_task_makers *m);
void async_task_makers_end(struct finding *f, const struct async_task_makers *m);
/* The runtime of a table that has that one now. */
uint32_t async_task_maker(const struct finding *f, uint32_t runtime, enum async_task_maker maker);
/* The same of a root future, as root_maker of task_shape. */
uint32_t async_task_root_maker(const struct discovery *d, uint32_t runtime, const char *future);

#endif
