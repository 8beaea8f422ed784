// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The provider `tokio`, while somebody is attached to it. Tasks are what the runtime polls:
 * closures of the blocking pool, and the workers' own loops, are none. docs/PROBES.md says when
 * each fires.
 */
#include "agent/agent.h"
#include "agent/probes_priv.h"

#define NR_ENDED 65536

/* Of each thread. Initial-exec, as hook_slot. Values, not pointers: a run may end on another
 * thread than it began on. */
static __thread struct {
	uint64_t task;	    /* whose run it is in, 0: none */
	uint32_t depth;	    /* of runs in each other */
	uint32_t nr_loops;  /* of workers that it is in */
	bool has_run_tasks; /* for a runtime whose loop is not seen */
} mine __attribute__((tls_model("initial-exec")));

/* By address: memory that may be a new task's; the word is its parent. Gone with its first run. */
static struct memos spawned;

/*
 * By name, of tasks that were seen to run: was it made runnable since? If not, it was woken while
 * it ran. The upper bits are the task that did it, if that was seen.
 */
static struct memos known;
enum { KNOWN = 1, QUEUED = 2, WOKEN_BY = 4, WAKER_SHIFT = 3 };

/* Tasks whose end was told of late: two runs that overlap may both find their task complete. */
static uint64_t ended[NR_ENDED];

static bool is_polled(uint64_t header, const struct core_table *table)
{
	/* where names are missing: what nobody owns is a closure of the blocking pool */
	return probes_kind_of(table) == WIRE_TASK_POLLED &&
	       (!table->id_off || load(header + TOKIO_OWNER));
}

static uint64_t id_of(uint64_t header, const struct core_table *table)
{
	return table->id_off ? load(header + table->id_off) : header;
}

/* Unlike its id, no other copy of Tokio in this process has it. */
static uint64_t key_of(uint64_t id, const struct core_table *table)
{
	return id | table->type_word;
}

/* NULL: this process is not traced. */
static const struct core_table *any_table_of(uint64_t header)
{
	return core_page.region ? core_table_of(header) : NULL;
}

/* Of a task that probes tell of, else NULL. */
static const struct core_table *table_of(uint64_t header)
{
	const struct core_table *table = any_table_of(header);

	return table && is_polled(header, table) ? table : NULL;
}

/* Who is attached? What is remembered for nobody is forgotten. */
static void look(void)
{
	probes_look();
	if (!probes_has(PROBE_TASK_SPAWN) && !probes_has(PROBE_TASK_DETAILS))
		memos_forget(&spawned);
	if (!probes_has(PROBE_TASK_WAKE))
		memos_forget(&known);
}

#define FIRE_TASK(NAME, id, n) FIRE(NAME, id, (n).file, (n).line, (n).column, (n).type)

/* ---- spawns ---- */

void probes_spawned(uint64_t addr, uint64_t size)
{
	look();
	if (probes_has(PROBE_TASK_SPAWN) || probes_has(PROBE_TASK_DETAILS))
		__atomic_store_n(&memo_make(&spawned, addr)->word, mine.task, __ATOMIC_RELAXED);
}

static void tell_spawn(const struct probes_run *r, const struct probes_name *n)
{
	uint64_t parent;

	if (!memo_take(&spawned, r->header, &parent))
		return;
	FIRE_TASK(TASK_SPAWN, r->id, *n);
	FIRE(TASK_DETAILS, r->id, parent, n->type, n->file, n->line);
}

/* ---- wakes ---- */

void probes_wake(uint64_t header)
{
	const struct core_table *table = table_of(header);
	uint64_t id, was;

	look();
	if (!table || !probes_has(PROBE_TASK_WAKE))
		return;
	id = id_of(header, table);
	was = __atomic_fetch_or(&memo_make(&known, key_of(id, table))->word, QUEUED,
				__ATOMIC_RELAXED);
	/* before 1.23 two may try at once, and one does it */
	if (table->id_off || !(was & QUEUED))
		FIRE(TASK_WAKE, id, mine.task);
}

void probes_wake_tried(uint64_t header)
{
	uint64_t state = load(header + TOKIO_STATE);

	if (!(state & TOKIO_LIFE))
		probes_wake(header);
	else if ((state & TOKIO_LIFE) == TOKIO_RUNNING)
		probes_wake_running(header);
}

void probes_wake_running(uint64_t header)
{
	const struct core_table *table = table_of(header);
	struct memo *m = NULL;
	uint64_t was;

	look();
	if (table)
		m = memo_find(&known, key_of(id_of(header, table), table));
	if (!m)
		return;
	was = __atomic_load_n(&m->word, __ATOMIC_RELAXED);
	while (!(was & WOKEN_BY) && /* of several, the first wakes it */
	       !__atomic_compare_exchange_n(&m->word, &was,
					    was | WOKEN_BY | mine.task << WAKER_SHIFT, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Nothing of ours is called when a task that was woken while it ran is queued again: it shows by
 * its next run. */
static void tell_self_wake(const struct probes_run *r)
{
	struct memo *m;
	uint64_t was;

	if (!probes_has(PROBE_TASK_WAKE))
		return;
	m = memo_make(&known, key_of(r->id, r->table));
	was = __atomic_exchange_n(&m->word, KNOWN, __ATOMIC_RELAXED);
	if ((was & (KNOWN | QUEUED)) == KNOWN)
		FIRE(TASK_WAKE, r->id, was & WOKEN_BY ? was >> WAKER_SHIFT : r->id);
}

/* ---- runs ---- */

/* Tasks that end at one time have numbers close to each other, and tables: both must not add up. */
static uint64_t *end_of(const struct probes_run *r)
{
	uint64_t key = key_of(r->id, r->table);

	return &ended[(key + (key >> 48) * 40503) % NR_ENDED];
}

/* Before 1.23 an address stands for the id: it may have been another task's. */
static void forget_end(const struct probes_run *r)
{
	uint64_t key = key_of(r->id, r->table);

	if (!r->table->id_off && __atomic_load_n(end_of(r), __ATOMIC_RELAXED) == key)
		__atomic_store_n(end_of(r), 0, __ATOMIC_RELAXED);
}

/* It is no task to the probes, but it may spawn and wake some. */
static void enter_closure(uint64_t header)
{
	const struct core_table *table = any_table_of(header);

	if (table && probes_kind_of(table) == WIRE_TASK_BLOCKING)
		mine.task = id_of(header, table);
}

void probes_enter(struct probes_run *r, uint64_t header, enum core_run_kind kind)
{
	struct probes_name n;
	uint64_t state;

	look();
	*r = (struct probes_run){ .header = header,
				  .table = table_of(header),
				  .outer = mine.task,
				  .outer_depth = mine.depth };
	if (!r->table) {
		enter_closure(header);
		return;
	}
	/* ours, so that the task can be looked at when the run is over */
	state = __atomic_fetch_add((uint64_t *)header, TOKIO_REF, __ATOMIC_RELAXED);
	r->flags = start_flags(state, kind);
	r->id = id_of(header, r->table);
	mine.task = r->id;
	mine.depth++;
	mine.has_run_tasks = true;
	n = probes_name_of(header, r->table);
	tell_spawn(r, &n);
	forget_end(r);
	if (!r->flags) {
		tell_self_wake(r);
		FIRE_TASK(TASK_POLL_START, r->id, n);
	}
}

/* Is the task over, and we the first to see it? */
static bool has_ended(const struct probes_run *r, uint64_t state)
{
	uint64_t key = key_of(r->id, r->table), word;

	if (!(state & TOKIO_COMPLETE) || r->flags & EF_RUN_FINISHED ||
	    __atomic_exchange_n(end_of(r), key, __ATOMIC_ACQ_REL) == key)
		return false;
	memo_take(&known, key, &word);
	return true;
}

/* Whatever makes it runnable from here on goes through its schedule slot. */
static void note_idle(const struct probes_run *r, uint64_t state)
{
	struct memo *m = NULL;

	if (!(state & TOKIO_LIFE) && probes_has(PROBE_TASK_WAKE))
		m = memo_find(&known, key_of(r->id, r->table));
	if (m)
		__atomic_fetch_and(&m->word, ~(uint64_t)KNOWN, __ATOMIC_RELAXED);
}

bool probes_leave(struct probes_run *r)
{
	struct probes_name n;
	uint64_t state;

	mine.task = r->outer;
	mine.depth = r->outer_depth;
	if (!r->table)
		return false;
	state = __atomic_load_n((uint64_t *)(r->header + TOKIO_STATE), __ATOMIC_ACQUIRE);
	note_idle(r, state);
	n = probes_name_of(r->header, r->table);
	if (has_ended(r, state))
		FIRE_TASK(TASK_TERMINATE, r->id, n);
	if (!r->flags)
		FIRE_TASK(TASK_POLL_END, r->id, n);
	return drop_reference(r->header);
}

/* ---- workers ---- */

void probes_worker_starts(void)
{
	mine.nr_loops++;
	FIRE(WORKER_THREAD_START);
}

void probes_worker_stops(void)
{
	mine.nr_loops--;
	FIRE(WORKER_THREAD_STOP);
}

bool probes_park(unsigned flags)
{
	bool is_runtimes =
		mine.nr_loops || (roots_are_seen() ? roots_is_driving() : mine.has_run_tasks);

	if (!core_page.region || mine.depth || !is_runtimes ||
	    !(flags & (EF_SLEEP_FUTEX | EF_SLEEP_EPOLL)))
		return false;
	FIRE(WORKER_THREAD_PARK);
	return true;
}

void probes_unpark(void)
{
	FIRE(WORKER_THREAD_UNPARK);
}
