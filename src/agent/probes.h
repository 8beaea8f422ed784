// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The USDT probes: which there are, whether somebody is attached, and what the hooks do then. While
 * nobody is, a hook pays for one look at the semaphores and nothing is computed or remembered.
 * While somebody is, it takes a way of its own (probes_enter … probes_leave around the usual hook),
 * where what the probes tell is gathered: the trap of a tracer costs ten times as much.
 *
 * The probes are there twice, under the names that the runtimes' users know and as names of C: see
 * probes_sites.c. A process that is not traced, such as a child by fork, fires none.
 */
#ifndef AGENT_PROBES_H
#define AGENT_PROBES_H

#include "agent/core.h"
#include "arch/usdt.h"

enum probe {
#define PROBE(NAME, provider, c_name, name, args) PROBE_##NAME,
#include "wire/probes.def"
#undef PROBE
	NR_PROBES,
};

#define PROBE_WORDS 4 /* of semaphores, four in each */
_Static_assert(NR_PROBES <= PROBE_WORDS * 4, "USDT_END leaves so much room");

/* What the library for perf shows to the agent. */
struct probes_object {
	uint64_t nr; /* NR_PROBES: it is of the same build */
	const uint64_t *semaphores;
	const void *sites[NR_PROBES];
};

/* NULL when that library is not there. */
extern const struct probes_object futrace_probes __attribute__((weak, visibility("default")));

extern const uint64_t probes_semaphores[PROBE_WORDS] HIDDEN;
extern const uint64_t *probes_perf_semaphores HIDDEN; /* of the library, or zeros */
/* The same; while something is remembered of tasks, words that are not zero: see probes_look. */
extern const uint64_t *probes_watched HIDDEN;

/* The probes' groups, as their order makes them. */
enum probes_group { PROBES_TOKIO = 0, PROBES_ASYNC_TASK = 2 };

/* Is somebody attached to a probe of the group, or was, with nothing hooked called since? */
static inline __attribute__((always_inline)) bool probes_wanted(enum probes_group g)
{
	const volatile uint64_t *ours = probes_semaphores + g, *perf = probes_watched + g;

	return __builtin_expect((ours[0] | ours[1] | perf[0] | perf[1]) != 0, 0);
}

/* Before anything is hooked. */
void probes_init(void) HIDDEN;
/* core_page is wiped on fork by now: sites may be called that the kernel replaces. In a child they
 * are the others again. */
void probes_allow_calls(void) HIDDEN;
void probes_forked(void) HIDDEN;

/* ---- what is told of a task ---- */

/* A table was hooked: how its tasks are called, and whether the runtime polls them. */
void probes_set_type(const struct core_table *table, const struct wire_table *plan) HIDDEN;

/* ---- Tokio ---- */

struct probes_run {
	uint64_t header;
	const struct core_table *table; /* NULL: nothing is told of this run, no reference held */
	uint64_t id;
	unsigned flags; /* EF_RUN_… */
	/* of the thread, as they were before */
	uint64_t outer;
	uint32_t outer_depth;
};

/* Around a run. leave returns true when the caller must free the task: ours was the last
 * reference. */
void probes_enter(struct probes_run *run, uint64_t header, enum core_run_kind kind) HIDDEN;
bool probes_leave(struct probes_run *run) HIDDEN;
/* The schedule slot is called. */
void probes_wake(uint64_t header) HIDDEN;
/* Tokio before 1.23: a waker or the abort slot is. */
void probes_wake_tried(uint64_t header) HIDDEN;
/* A waker is used on a task that runs. */
void probes_wake_running(uint64_t header) HIDDEN;
/* Memory of a task's size was allocated. */
void probes_spawned(uint64_t addr, uint64_t size) HIDDEN;

/* ---- async-task ---- */

/* Of a run, on the stack of its hook. */
struct probes_machine_run {
	uint64_t id, outer;
	uint64_t start_ns;
};

struct async_run;
/* It is about to begin; it is over, and the memory of its task may be gone. */
void probes_machine_runs(struct async_run *r, bool is_drop) HIDDEN;
void probes_machine_ran(struct async_run *r) HIDDEN;
/* A task is made runnable: for the first time, or by a waker that finds it idle. */
void probes_task_spawned(uint64_t task) HIDDEN;
void probes_task_woken(uint64_t task) HIDDEN;
/* The same of a thread that is no machine yet, whether anybody is attached or not. It becomes one
 * with its first poll: neither a closure of the blocking pool nor what is dropped makes it one. */
void probes_machine_starts(const struct async_run *r, bool is_drop) HIDDEN;
extern __thread bool probes_is_machine HIDDEN __attribute__((tls_model("initial-exec")));

/* ---- threads of Tokio ---- */

/* Around the loop of a worker. */
void probes_worker_starts(void) HIDDEN;
void probes_worker_stops(void) HIDDEN;
/* The thread is about to sleep in the kernel (EF_SLEEP_…). True: it is a worker that parks. */
bool probes_park(unsigned flags) HIDDEN;
void probes_unpark(void) HIDDEN;

#endif
