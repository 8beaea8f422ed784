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
	uint64_t addr; /* 0: free entry; stored last, with release */
	uint64_t poll, schedule, dealloc, shutdown;
	uint32_t id_off, stage_off, trailer_off;
	uint16_t type;
	uint8_t kind; /* enum wire_table_kind */
	uint8_t pad;
};

/* RawWakerVTable has no room for a way back: there is one hook function for each of these. */
#define CORE_MAX_WAKERS 4
struct core_waker {
	uint64_t addr;
	uint64_t wake, wake_by_ref;
};

#define CORE_MAX_ENTRIES (2 * WIRE_MAX_TABLES) /* a power of two, never more than half full */

/*
 * All that says "we record". Lies in a page of its own that the kernel wipes on fork, so that a
 * child that shares nothing else with us finds threads == NULL and passes everything through.
 */
struct core_page {
	struct wire_thread *threads; /* NULL: off */
	uint64_t *rings;
	uint64_t ring_words, segment_words;
	uint64_t base_ticks;
	uint64_t tid_off; /* of the thread id, from the thread pointer */
	uint32_t clock;	  /* enum wire_clock */
	uint32_t pad;
	uint64_t (*read_clock)(void); /* for WIRE_CLOCK_MONOTONIC */
	void (*claimed)(
		struct wire_thread *t); /* told of each new slot, on its thread; may be NULL */
	struct wire_region *region;
	const struct wire_lobby *lobby;
	uint64_t cell_sizes[16]; /* a Bloom filter of one hash: sizes that tasks may have, in units
				    of 128 bytes */
};

struct core {
	struct core_page *page; /* never NULL once hooks are in */
	struct core_waker wakers[CORE_MAX_WAKERS];
	struct core_table tables[CORE_MAX_ENTRIES];
};

extern struct core core HIDDEN;

/* One run, on the stack of the hook. */
struct core_run {
	struct wire_thread *thread; /* NULL: not recorded and no reference held */
	const struct core_table *table;
	uint64_t header;
	struct core_run *outer; /* the run inside which this one is */
	uint64_t nr_panics;
	bool is_recorded; /* its start is in the ring, so room for its end is kept */
	bool is_escaped;  /* a panic was on its way out of the future */
};

enum core_run_kind { CORE_POLL, CORE_SHUTDOWN };

/* The entry of a table that is hooked; header is a task's. */
const struct core_table *core_table_of(uint64_t header) HIDDEN;
struct core_table *core_table_find(uint64_t addr, bool make) HIDDEN; /* NULL: absent, or no room */

/* Around the runtime's own poll or shutdown. leave returns true when the caller must free the task
 * by the table's dealloc: ours was the last reference. */
void core_run_enter(struct core_run *run, uint64_t header, enum core_run_kind kind) HIDDEN;
bool core_run_leave(struct core_run *run) HIDDEN;

void core_schedule(uint64_t header, const struct core_table *table) HIDDEN;
void core_wake_running(uint64_t header)
	HIDDEN; /* from a waker table; records only foreign wakes of a running task */
void core_spawn(uint64_t addr, uint64_t size) HIDDEN;
/* Returns the slot to give to core_awake, or NULL when nothing was recorded. */
struct wire_thread *core_sleep(unsigned flags) HIDDEN;
void core_awake(struct wire_thread *t) HIDDEN;
/* The innermost run of the calling thread, NULL when there is none or nothing is recorded. */
struct core_run *core_current_run(void) HIDDEN;
/* A panic with this payload; escapes: nothing in the program will catch it before the runtime does.
 */
void core_panic(uint64_t data, uint64_t vtable, bool escapes) HIDDEN;
void core_thread_name(const char name[16]) HIDDEN; /* of the calling thread */
void core_thread_stop(struct wire_thread *t) HIDDEN;

#endif
