// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions that stand in hooked slots. Each passes on every argument register: what a slot
 * takes beyond the header is the runtime's affair. A hook finds the function it replaced through
 * the header's own table pointer.
 *
 * Built with -fexceptions: a panic may unwind through a run, and the run must end all the same. The
 * names begin with futrace_ because the program's backtraces show them.
 */
#include "agent/agent.h"
#include "agent/fast.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#define SPINS	    10000 /* of some tens of nanoseconds, before a thread sleeps */
#define FEWER_SPINS 100

__thread struct wire_thread *hook_slot;

void hook_set_slot(struct wire_thread *t)
{
	hook_slot = t;
}

static inline __attribute__((always_inline)) void leave(const struct core_entry *e)
{
	if (core_leave(e, hook_slot_now()))
		((void (*)(uint64_t))e->table->dealloc)(e->header);
}

/*
 * Somebody is attached to the probes: these are told around all that is done otherwise. Hooks go on
 * here by a jump, as the first thing that they do, so that it costs them no register.
 */
static void leave_probes(struct probes_run *r)
{
	if (probes_leave(r))
		((void (*)(uint64_t))r->table->dealloc)(r->header);
}

#define PROBED __attribute__((noinline, cold))

static inline __attribute__((always_inline)) void poll(uint64_t header, uint64_t b, uint64_t c,
						       uint64_t d, uint64_t e, uint64_t f)
{
	struct core_entry run __attribute__((cleanup(leave))) =
		core_enter(header, CORE_POLL, hook_slot);

	((hook_fn)run.table->poll)(header, b, c, d, e, f);
}

static PROBED void poll_probed(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			       uint64_t f)
{
	struct probes_run run __attribute__((cleanup(leave_probes)));

	probes_enter(&run, header, CORE_POLL);
	poll(header, b, c, d, e, f);
}

/* Nothing is recorded, as under `futrace run`: no frame, no more than a jump. Or the clock is slow.
 */
static PROBED void poll_slowly(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			       uint64_t f)
{
	const struct core_table *table = core_page.threads ? NULL : core_hooked_of(header).table;

	if (table)
		((hook_fn)table->poll)(header, b, c, d, e, f);
	else
		poll(header, b, c, d, e, f);
}

void futrace_hook_poll(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	if (probes_wanted(PROBES_TOKIO))
		poll_probed(header, b, c, d, e, f);
	else if (unlikely(!core_page.fast_threads))
		poll_slowly(header, b, c, d, e, f);
	else
		poll(header, b, c, d, e, f);
}

/* The loop of a worker is a task, too, which runs as long as the worker does. */
static void worker_stops(const int *unused)
{
	probes_worker_stops();
}

void futrace_hook_poll_worker(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	int stops __attribute__((cleanup(worker_stops))) = 0;

	probes_worker_starts();
	futrace_hook_poll(header, b, c, d, e, f);
}

/*
 * tokio_unstable: a task knows where it was spawned, which is told before its first run. Nobody
 * says which is the first: so the tasks that were told of late are remembered, by a hash. One that
 * was forgotten is told again.
 */
#define NR_PLACED (1 << 16)
static uint64_t placed[NR_PLACED];

static __attribute__((noinline, cold)) void
tell_place(uint64_t header, const struct core_table *table, uint64_t task, uint64_t *known)
{
	uint32_t stack = stack_take_place(load(header + table->id_off + 8));

	if (stack == WIRE_NO_STACK || core_spawn_place(header, table, stack))
		__atomic_store_n(known, task, __ATOMIC_RELAXED);
}

void futrace_hook_poll_placed(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			      uint64_t f)
{
	const struct core_table *table = fast_table(header);

	if (likely(table && core_page.threads)) {
		uint64_t task = task_word(header, table);
		uint64_t *known = &placed[(task + (task >> 40)) % NR_PLACED];

		if (unlikely(__atomic_load_n(known, __ATOMIC_RELAXED) != task))
			tell_place(header, table, task, known);
	}
	futrace_hook_poll(header, b, c, d, e, f);
}

/* Lets others run, be their priority lower than ours. A futex, which no runtime is forbidden. */
static void nap(void)
{
	static const uint32_t word;
	const struct timespec time = { .tv_nsec = 50000 };

	agent_syscall(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&time);
}

/*
 * A shutdown may drop the future while another thread, which is about to poll the task, looks where
 * it stands. That takes some nanoseconds, or, if that thread is off its CPU just then, until it is
 * back. Who has looked gets the task some nanoseconds later; but whether it has had it long ago
 * nobody says, so for that we wait in moderation. 0: it was not needed.
 */
static uint64_t close_path(uint64_t header)
{
	if (!path_close(header))
		return 0;
	for (unsigned i = 0; path_is_read(header, hook_slot); i++)
		if (i < SPINS)
			arch_pause();
		else
			nap();
	for (unsigned i = 0; i < FEWER_SPINS && path_was_read(header, hook_slot); i++)
		arch_pause();
	return header;
}

static void unclose_path(const uint64_t *closed)
{
	if (*closed)
		path_unclose(*closed);
}

static inline __attribute__((always_inline)) void shut_down(uint64_t header, uint64_t b, uint64_t c,
							    uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t closed __attribute__((cleanup(unclose_path))) = close_path(header);
	struct core_entry run __attribute__((cleanup(leave))) =
		core_enter(header, CORE_SHUTDOWN, hook_slot);

	if (closed)
		path_leave_closed(header);
	((hook_fn)run.table->shutdown)(header, b, c, d, e, f);
}

static PROBED void shutdown_probed(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				   uint64_t f)
{
	struct probes_run run __attribute__((cleanup(leave_probes)));

	probes_enter(&run, header, CORE_SHUTDOWN);
	shut_down(header, b, c, d, e, f);
}

void futrace_hook_shutdown(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			   uint64_t f)
{
	if (probes_wanted(PROBES_TOKIO))
		shutdown_probed(header, b, c, d, e, f);
	else
		shut_down(header, b, c, d, e, f);
}

static PROBED void schedule_probed(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				   uint64_t f)
{
	probes_wake(header);
	((hook_fn)core_schedule(header, hook_slot))(header, b, c, d, e, f);
}

static PROBED void schedule_slowly(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				   uint64_t f)
{
	uint64_t schedule = core_page.threads ? core_schedule_slowly(header)
					      : core_hooked_of(header).table->schedule;

	((hook_fn)schedule)(header, b, c, d, e, f);
}

void futrace_hook_schedule(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			   uint64_t f)
{
	if (probes_wanted(PROBES_TOKIO))
		schedule_probed(header, b, c, d, e, f);
	else if (unlikely(!core_page.fast_threads))
		schedule_slowly(header, b, c, d, e, f);
	else
		((hook_fn)core_schedule(header, hook_slot))(header, b, c, d, e, f);
}

/* A handle that goes while its task is as it was spawned does not come here. */
void futrace_hook_detach(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			 uint64_t f)
{
	((hook_fn)core_detach(header))(header, b, c, d, e, f);
}

/* A waker's data pointer is the task, but the task's table says nothing of the waker's: one hook a
 * table. */
static PROBED void woken_while_running(uint64_t header)
{
	core_wake_running(header);
	if (probes_wanted(PROBES_TOKIO))
		probes_wake_running(header);
}

#define WAKER(i)                                                                              \
	static void wake_##i(uint64_t header, uint64_t b, uint64_t c, uint64_t d, uint64_t e, \
			     uint64_t f)                                                      \
	{                                                                                     \
		if (core_is_running(header))                                                  \
			woken_while_running(header);                                          \
		((hook_fn)core_wakers[i].wake)(header, b, c, d, e, f);                        \
	}                                                                                     \
	static void wake_by_ref_##i(uint64_t header, uint64_t b, uint64_t c, uint64_t d,      \
				    uint64_t e, uint64_t f)                                   \
	{                                                                                     \
		if (core_is_running(header))                                                  \
			woken_while_running(header);                                          \
		((hook_fn)core_wakers[i].wake_by_ref)(header, b, c, d, e, f);                 \
	}

WAKER(0)
WAKER(1)
WAKER(2)
WAKER(3)

const hook_fn hook_wake[CORE_MAX_WAKERS] = { wake_0, wake_1, wake_2, wake_3 };
const hook_fn hook_wake_by_ref[CORE_MAX_WAKERS] = { wake_by_ref_0, wake_by_ref_1, wake_by_ref_2,
						    wake_by_ref_3 };
