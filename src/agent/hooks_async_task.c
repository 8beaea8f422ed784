// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions that stand in slots of async-task's tables; see hooks.c for what holds for all
 * hooks. A panic unwinds through a run as a rule, unless the task was made to keep its panics.
 */
#include "agent/agent.h"
#include "agent/async_task.h"

typedef uint64_t (*run_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static void leave(struct async_run *r)
{
	uint64_t task = r->run.header;

	switch (async_leave(r)) {
	case ASYNC_DESTROY:
		((hook_fn)r->table->dealloc)(task, 0, 0, 0, 0, 0);
		break;
	case ASYNC_SCHEDULE:
		((hook_fn)r->table->schedule)(task, 0, 0, 0, 0, 0);
		break;
	case ASYNC_NOT_LAST:
		break;
	}
}

uint64_t futrace_hook_run(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct async_run run __attribute__((cleanup(leave)));
	uint64_t result;

	async_enter(&run, task, false);
	result = ((run_fn)run.table->poll)(task, b, c, d, e, f);
	run.has_returned = true;
	run.was_woken = result & 0xff; /* a bool: the rest of the register is not its own */
	return result;
}

void futrace_hook_drop_future(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	struct async_run run __attribute__((cleanup(leave)));

	async_enter(&run, task, true);
	((hook_fn)run.table->shutdown)(task, b, c, d, e, f);
	run.has_returned = true;
}

/* The same of tasks to which the runtime gives numbers and names. */
uint64_t futrace_hook_run_named(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	async_tell_own_name(task);
	return futrace_hook_run(task, b, c, d, e, f);
}

void futrace_hook_drop_named(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			     uint64_t f)
{
	async_tell_own_name(task);
	futrace_hook_drop_future(task, b, c, d, e, f);
}

void futrace_hook_schedule_task(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	uint32_t stack = stack_take(__builtin_frame_address(0));

	((hook_fn)async_schedule(task, stack)->schedule)(task, b, c, d, e, f);
}

void futrace_hook_wake(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	((hook_fn)async_wake(task)->wake)(task, b, c, d, e, f);
}

void futrace_hook_wake_by_ref(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	((hook_fn)async_wake(task)->wake_by_ref)(task, b, c, d, e, f);
}
