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
	uint64_t task = r->task;
	enum async_last last = async_leave(r);

	if (__builtin_expect(r->is_watched, 0))
		probes_machine_ran(r);
	switch (last) {
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

static inline __attribute__((always_inline)) void enter(struct async_run *r, uint64_t task,
							unsigned how)
{
	async_enter(r, task, how | (probes_wanted(PROBES_ASYNC_TASK) ? ASYNC_WATCHED : 0));
	if (__builtin_expect(!probes_is_machine, 0))
		probes_machine_starts(r, how & ASYNC_DROP);
	if (__builtin_expect(r->is_watched, 0))
		probes_machine_runs(r, how & ASYNC_DROP);
}

uint64_t futrace_hook_run(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	struct async_run run __attribute__((cleanup(leave)));
	uint64_t result;

	enter(&run, task, 0);
	result = ((run_fn)run.table->poll)(task, b, c, d, e, f);
	run.has_returned = true;
	run.was_woken = result & 0xff; /* a bool: the rest of the register is not its own */
	return result;
}

void futrace_hook_drop_future(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	struct async_run run __attribute__((cleanup(leave)));

	enter(&run, task, ASYNC_DROP);
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
	uint32_t stack = core_page.threads ? stack_take(__builtin_frame_address(0)) : WIRE_NO_STACK;

	if (probes_wanted(PROBES_ASYNC_TASK) && async_is_spawn(task))
		probes_task_spawned(task);
	((hook_fn)async_schedule(task, stack)->schedule)(task, b, c, d, e, f);
}

static inline __attribute__((always_inline)) void watch_wake(uint64_t task)
{
	if (probes_wanted(PROBES_ASYNC_TASK) && async_is_idle(task))
		probes_task_woken(task);
}

void futrace_hook_wake(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	watch_wake(task);
	((hook_fn)async_wake(task)->wake)(task, b, c, d, e, f);
}

void futrace_hook_wake_by_ref(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	watch_wake(task);
	((hook_fn)async_wake(task)->wake_by_ref)(task, b, c, d, e, f);
}

void futrace_hook_drop_waker(uint64_t task, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			     uint64_t f)
{
	((hook_fn)async_drop_waker(task)->drop)(task, b, c, d, e, f);
}
