// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The provider `async_std`, while somebody is attached to it: of async-std, smol and all else on
 * async-task. A machine is a thread that runs tasks. docs/PROBES.md says when each probe fires.
 */
#include "agent/agent.h"
#include "agent/async_task.h"
#include "agent/probes_priv.h"

#include <string.h>

#define NAME_BYTES 128

__thread bool probes_is_machine;

static __thread uint64_t current __attribute__((tls_model("initial-exec"))); /* task, 0: none */

/* By address: the machine that made a task runnable. Gone when it runs. */
static struct memos queued_by;

static uint64_t machine(void)
{
	return (uint64_t)__builtin_thread_pointer();
}

/* Its number, or its address where debug info does not tell that. */
static uint64_t id_of(uint64_t task, const struct core_table *table)
{
	struct async_own_name name;

	return async_get_own_name(task, table, &name) ? name.number : task;
}

static bool is_silent(const struct core_table *table)
{
	return !core_page.region || probes_kind_of(table) != WIRE_TASK_POLLED;
}

void probes_machine_starts(const struct async_run *r, bool is_drop)
{
	if (is_silent(r->table) || is_drop || !async_will_poll(r))
		return;
	probes_is_machine = true;
	FIRE(MACHINE_STARTING, machine());
}

/* Who is attached? What is remembered for nobody is forgotten. */
static void look(void)
{
	probes_look();
	if (!probes_has(PROBE_MACHINE_SCHEDULED_TASK))
		memos_forget(&queued_by);
}

static void set_queued(uint64_t task)
{
	if (probes_has(PROBE_MACHINE_SCHEDULED_TASK))
		__atomic_store_n(&memo_make(&queued_by, task)->word, machine(), __ATOMIC_RELAXED);
}

void probes_task_spawned(uint64_t task)
{
	const struct core_table *table = async_table_of(task);
	char text[NAME_BYTES] = "";
	struct async_own_name name = { .number = task };

	look();
	if (is_silent(table))
		return;
	set_queued(task);
	if (async_get_own_name(task, table, &name) && name.text)
		memcpy(text, name.text, name.len < NAME_BYTES ? name.len : NAME_BYTES - 1);
	FIRE(ASYNC_STD_TASK_SPAWN, name.number, current,
	     *text ? text : probes_name_of(task, table).type);
}

void probes_task_woken(uint64_t task)
{
	look();
	set_queued(task);
}

void probes_machine_runs(struct async_run *r, bool is_drop)
{
	uint64_t task = r->task, by = 0;

	look();
	if (is_silent(r->table)) {
		r->is_watched = false;
		return;
	}
	r->probe = (struct probes_machine_run){ id_of(task, r->table), current, 0 };
	current = r->probe.id;
	memo_take(&queued_by, task, &by);
	if (is_drop || !r->is_held) /* no run of the future */
		return;
	FIRE(MACHINE_SCHEDULED_TASK, machine(), r->probe.id, by == machine());
	if (probes_has(PROBE_MACHINE_BLOCKED))
		r->probe.start_ns = agent_monotonic_ns();
}

static void tell_blocked(const struct probes_machine_run *p)
{
	uint64_t duration_ns = p->start_ns ? agent_monotonic_ns() - p->start_ns : 0;

	if (duration_ns >= BLOCKADE_NS)
		FIRE(MACHINE_BLOCKED, machine(), p->id, duration_ns);
}

void probes_machine_ran(struct async_run *r)
{
	current = r->probe.outer;
	tell_blocked(&r->probe);
	if (r->end_flags & EF_END_COMPLETE)
		FIRE(ASYNC_STD_TASK_COMPLETED, r->probe.id);
	else if (r->was_woken) /* and so queued again by this machine */
		set_queued(r->task);
}
