// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The agent's core: what happens on every event inside the traced program. Freestanding: it calls
 * no function outside itself, uses no TLS and allocates nothing (`nm -u` of its object is empty, a
 * test), so the same code serves as a preloaded library and, later, as an image mapped into a
 * running or static program.
 *
 * The *way in* (preload.c and its neighbours) maps the region, hooks tables and owns the frames
 * that call the program's own functions; the core is begin and end functions around those calls.
 *
 * Words: a *run* is one call of a task's poll or shutdown slot. A *slot* is a thread's place in the
 * region.
 */
#ifndef AGENT_CORE_H
#define AGENT_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/region.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* A hooked table with the functions it held before. Found by the table's address. */
struct core_table {
	uint64_t addr; /* 0: free entry; stored last, with release. May have CORE_OLD in it */
	uint64_t poll, dealloc, shutdown;
	union {
		uint64_t schedule;
		uint64_t abort; /* CORE_OLD: there is no schedule */
	};
	uint64_t type_word;	    /* the type where events have it */
	uint16_t id_off, stage_off; /* id_off of async-task: where its header ends */
	uint32_t trailer_off;
	uint32_t recipe; /* to follow its future by: a number of path.h, 0: none */
	union {
		struct { /* Tokio: as in wire_table */
			uint16_t scheduler_off, local_off;
		};
		uint32_t state_off; /* async-task: learnt from its first task */
	};
};
_Static_assert(sizeof(struct core_table) == 64, "one line of the cache");

/*
 * Marks the address of a table of Tokio before 1.23, whose tasks have no ids and point to their
 * table from elsewhere. So the usual case (fast.h) never finds it, and need not ask.
 */
#define CORE_OLD 1

/* RawWakerVTable has no room for a way back: there is one hook function for each of these. */
#define CORE_MAX_WAKERS 4
struct core_waker {
	uint64_t addr;
	uint64_t wake, wake_by_ref;
};

/* Tokio before 1.23 has one for each type of task. hooks_tokio_old.c has as many pairs of hooks. */
#define CORE_MAX_TYPE_WAKERS 4096

#define CORE_MAX_ENTRIES     (2 * WIRE_MAX_TABLES) /* a power of two, never more than half full */

#define CORE_MAX_CLOSED	     64
#define CORE_LIVE_WORDS	     (WIRE_MAX_THREADS / 64)

/*
 * All that says "we record". A page of its own that the kernel wipes on fork, so that a child that
 * shares nothing else with us finds threads == NULL and passes everything through.
 */
struct core_page {
	struct wire_thread *threads;	  /* NULL: off */
	struct wire_thread *fast_threads; /* the same, NULL where the clock is not the TSC */
	uint64_t base_ticks;
	uint64_t tid_off;    /* of the thread id, from the thread pointer */
	uint32_t clock;	     /* enum wire_clock */
	uint32_t is_stopped; /* for good: nothing that is loaded later switches it on again */
	uint64_t (*read_clock)(void); /* for WIRE_CLOCK_MONOTONIC */
	/* told of each new slot, on its thread, or (NULL) that there was none for it; may be NULL
	 */
	void (*claimed)(struct wire_thread *t);
	struct wire_region *region;
	struct wire_lobby *lobby;
	/* sizes that tasks may have, in units of 128 bytes: a Bloom filter of one hash */
	uint64_t cell_sizes[16];
	/* path.h: which tasks a shutdown is about to take, and who must be looked at for readers */
	uint32_t has_paths;			 /* some table has a recipe */
	uint32_t nr_sound_nodes, nr_sound_edges; /* of the region, when they were looked at */
	uint32_t nr_closed;			 /* all of them */
	uint32_t nr_unlisted;			 /* of these, they are not in the list */
	uint64_t closed[CORE_MAX_CLOSED];
	uint64_t live[CORE_LIVE_WORDS]; /* a bit for each slot that was taken */
	/* of the agent's probes: those that the kernel replaces by calls; NULL: it must not */
	const void *const *probe_sites;
} __attribute__((aligned(WIRE_PAGE)));

/* A tool that does not run but may do so again is not gone. */
static inline bool core_is_tool_gone(const struct wire_lobby *l)
{
	return __atomic_load_n(&l->life, __ATOMIC_ACQUIRE) & WIRE_TOOL_GONE;
}

extern struct core_page core_page HIDDEN;

/* May so much more memory be touched? Then it counts. */
static inline bool core_charge(struct wire_budget *b, uint64_t bytes)
{
	uint64_t limit = __atomic_load_n(&b->limit, __ATOMIC_RELAXED);

	if (__atomic_add_fetch(&b->used, bytes, __ATOMIC_RELAXED) <= limit || !limit)
		return true;
	__atomic_fetch_sub(&b->used, bytes, __ATOMIC_RELAXED);
	return false;
}

/* The same of a stack or path, which takes a page at most that nothing else has touched. */
static inline bool core_charge_place(struct wire_region *r)
{
	if (!core_charge(&core_page.lobby->places, WIRE_PAGE))
		return false;
	__atomic_fetch_add(&r->nr_places, 1, __ATOMIC_RELAXED);
	return true;
}
extern struct core_waker core_wakers[CORE_MAX_WAKERS] HIDDEN;
extern struct core_waker core_type_wakers[CORE_MAX_TYPE_WAKERS] HIDDEN;
extern struct core_table core_tables[CORE_MAX_ENTRIES] HIDDEN;
/* By the same index, of Tokio's tables: what the slot by which a JoinHandle is dropped held. */
extern uint64_t core_detaches[CORE_MAX_ENTRIES] HIDDEN;

/* State bits of a Tokio task, the same in every 1.x. */
#define TOKIO_RUNNING	    1
#define TOKIO_COMPLETE	    2
#define TOKIO_NOTIFIED	    4
#define TOKIO_JOIN_INTEREST 8
#define TOKIO_CANCELLED	    32
#define TOKIO_LIFE	    (TOKIO_RUNNING | TOKIO_COMPLETE | TOKIO_NOTIFIED)
#define TOKIO_REF	    64

/*
 * Open runs, and polls of inner futures among them, lie in a table of their thread's slot
 * (wire_run). A program may leave a hook's frame for good, or switch to another stack and come back
 * in any order and on any thread. So nothing points into such a frame: it has the run's number, and
 * whoever leaves looks whether the table still knows that.
 */
enum core_run_bits {
	CORE_RECORDED = 1,  /* its start is in the ring, so room for its end is kept */
	CORE_ESCAPED = 2,   /* a panic was raised in it, and was on its way out of the future */
	CORE_ROOT = 4,	    /* of a root future: `header` is its key */
	CORE_WANTED = 8,    /* somebody held the JoinHandle when it began */
	CORE_HAS_ROOT = 16, /* a root began in it: when it ends, so has that */
	CORE_FUTURE = 32,   /* the poll of an inner future */
	CORE_OPEN = 64,	    /* always there: no number is 0 */
	CORE_UNTOLD = 128,  /* in the table of the entry that stands for none alone. Of a hook: its
			       start is in no ring. In wire_thread.left: its start is, and its
			       end is not */
};
#define CORE_RUN_SHIFT 8 /* of the ticks in a run's number; the bits beside them change */

static inline bool core_is_same_run(uint64_t a, uint64_t b)
{
	return (a ^ b) >> CORE_RUN_SHIFT == 0;
}

enum core_run_kind { CORE_POLL, CORE_SHUTDOWN };

/* Functions that hooks call in unusual cases only: they spare every register, so that the usual
 * case need not save any. */
#define CORE_SLOW __attribute__((noinline, cold, no_caller_saved_registers)) HIDDEN

/* The entry of a table, NULL: absent, or (make) no room for it. */
struct core_table *core_table_find(uint64_t addr, bool make) HIDDEN;
/* That of a task of Tokio's. */
const struct core_table *core_table_of(uint64_t header) HIDDEN;
/* The entry with the functions that the hooks of a task's table replaced. */
struct core_hooked {
	const struct core_table *table;
	bool is_misplaced; /* the functions are the task's, and nothing else in the entry is */
};
struct core_hooked core_hooked_of(uint64_t header) HIDDEN;

/*
 * A header before 1.21 may have 0 where later ones have the pointer to their table. The usual case
 * would find the first entry by it, if that is free: now it is not.
 */
void core_bar_zero(void) HIDDEN;

/* What a hook keeps of a run, in registers. */
struct core_entry {
	const struct core_table *table;
	struct wire_thread *slot; /* NULL: nothing is recorded, no reference held */
	uint64_t header;
	uint64_t run; /* its number, 0: it is not in the table of open runs */
};

/*
 * Around the runtime's own poll or shutdown, and in place of schedule: fast.h has the usual case,
 * these do any. leave returns true when the caller must free the task by the table's dealloc:
 * ours was the last reference. schedule returns the function to go on with.
 */
struct core_pair { /* in two registers, so that the usual case keeps nothing in memory */
	const struct core_table *table;
	struct wire_thread *slot;
};
struct core_pair core_enter_slowly(uint64_t header, enum core_run_kind kind, uint64_t frame,
				   uint64_t *run) CORE_SLOW;
bool core_leave_slowly(const struct core_table *table, struct wire_thread *slot, uint64_t header,
		       uint64_t run) CORE_SLOW;
uint64_t core_schedule_slowly(uint64_t header) CORE_SLOW;

/*
 * A waker was used. Idle tasks come by the schedule slot, notified and finished ones are not woken
 * again: only a task that runs, and not on this thread, is worth an event of its own.
 */
void core_wake_running(uint64_t header) CORE_SLOW;

/*
 * Tokio before 1.23: a waker, or the abort slot, is about to be used. Whether that makes the task
 * runnable shows later: it is tried. abort returns the function to go on with.
 */
void core_wake_tried(uint64_t header) HIDDEN;
uint64_t core_abort_tried(uint64_t header) HIDDEN;

/* The JoinHandle of a task is about to be dropped. Returns the function to go on with. */
uint64_t core_detach(uint64_t header) HIDDEN;

/* May an allocation of this size be a task? False also in a process that is not traced. */
bool core_is_task_size(uint64_t size) HIDDEN;
/* A task was allocated; stack: a number of wire_region.stacks, or WIRE_NO_STACK. */
void core_spawn(uint64_t addr, uint64_t size, uint32_t stack) HIDDEN;
/* Where the task whose run comes next was spawned. False: it could not be told. */
bool core_spawn_place(uint64_t header, const struct core_table *table, uint32_t stack) HIDDEN;
/* Returns the slot to give to core_awake, or NULL when nothing was recorded. */
struct wire_thread *core_sleep(unsigned flags) HIDDEN;
void core_awake(struct wire_thread *t) HIDDEN;
/* The innermost run of the calling thread. False: there is none, or nothing is recorded. */
struct core_current {
	uint64_t run;	/* its number */
	uint64_t frame; /* all that it calls lies below that, unless it switches stacks */
	bool is_root;
};
bool core_get_current(struct core_current *now) HIDDEN;
/* A panic with this payload; escapes: nothing in the program will catch it before the runtime does.
 */
void core_panic(uint64_t data, uint64_t vtable, bool escapes) HIDDEN;
void core_thread_name(const char name[16]) HIDDEN; /* of the calling thread */
void core_thread_stop(struct wire_thread *t) HIDDEN;

/*
 * roots.c: root futures. key is the address of the frame in which a thread entered its runtime;
 * type as events have it. begin tells where that was (stack), and begins the first run.
 */
struct core_root_run {
	struct wire_thread *slot;
	uint64_t run, outer;   /* numbers: of it, and of the run that it began in, 0: none */
	uint64_t task;	       /* as events name it */
	uint64_t nr_forgotten; /* of the thread when it began */
};
void core_root_begin(struct core_root_run *r, uint64_t key, uint16_t type, uint32_t stack,
		     uint64_t handle) HIDDEN; /* handle: an address inside of its runtime's */
/* Whose root it is: EF_INSTANCE_…, what is known of that runtime. Tasks that follow are told of
 * anew.
 */
void core_root_instance(uint64_t key, uint16_t type, uint64_t handle, unsigned flags) HIDDEN;
void core_root_start(struct core_root_run *r, uint64_t key, uint16_t type, uint64_t path) HIDDEN;
void core_root_end(const struct core_root_run *r, unsigned flags) HIDDEN; /* EF_END_… */
/* Is it still in the table? Otherwise it ended with the run that it began in. */
bool core_root_is_open(const struct core_root_run *r) HIDDEN;
/* Did its thread forget which runs are open since it began? Then neither it nor what is around it
 * is in the table, and its end was counted as lost. */
bool core_root_is_forgotten(const struct core_root_run *r) HIDDEN;
void core_root_wake(uint64_t key_and_type, unsigned flags) HIDDEN; /* EF_WAKE_… */
/* An event of this kind cannot be told: it counts as lost, and that is told before the next one. */
void core_root_unseen(unsigned kind) HIDDEN;

/*
 * futures.c: polls of inner futures, between those of the task that they belong to. One of these is
 * on the stack of the hook; hooks_futures.c has the usual case.
 */
struct core_future {
	struct wire_thread *slot; /* NULL: nothing is recorded */
	uint64_t run;		  /* its number, 0: it is not in the table */
};

void core_future_enter_slowly(struct core_future *f, uint32_t number) CORE_SLOW;
void core_future_leave_slowly(const struct core_future *f, uint32_t number,
			      unsigned flags) CORE_SLOW; /* EF_FUTURE_… */

/* marks.c: a mark, or an end of a span, of the program's own. */
struct wire_mark;
void core_mark(const struct wire_mark *m) HIDDEN;

#endif
