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

#endif
