// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The shared memory of wire/region.h, from the tool's side: one memfd with the lobby and a region
 * for each process. It is sparse; the tool maps region headers and
 * rings one by one when they are first used, so a limit on address space does not matter here.
 */
#ifndef CAPTURE_LOBBY_H
#define CAPTURE_LOBBY_H

#include "base/clock.h"
#include "base/err.h"
#include "capture/pulse.h"
#include "wire/region.h"

#define LOBBY_RING_DEFAULT (UINT64_C(64) << 20)
#define LOBBY_RING_MIN	   (UINT64_C(4) << 10)
#define LOBBY_RING_MAX	   (UINT64_C(1) << 30)
#define LOBBY_MEMORY_MIN   (UINT64_C(256) << 10)

struct lobby {
	int fd;
	struct wire_lobby *page;
	struct pulse *pulse;
	enum clock_kind clock;
	struct wire_lobby
		sizes;	     /* as they were set: what the program writes there is not believed */
	uint64_t ring_words; /* of a large ring */
	uint64_t base_ns;    /* base_ticks on CLOCK_MONOTONIC */
	uint64_t ring_limit; /* bytes of all rings together, 0: none */
	/* No ring keeps pages that were read: set when all rings together have taken half of what
	 * they may. */
	bool is_tight;
	bool no_roots, no_await;
};

struct lobby_opts {
	uint64_t ring_bytes;   /* per thread; 0: the default. Rounded up to a power of two. */
	uint64_t memory_bytes; /* for all that grows as it is used; 0: no limit */
	uint32_t wait_ms;      /* how long an agent may wait for an answer */
	bool follow;
	bool no_roots;	   /* no function is redirected */
	bool no_await;	   /* agents do not look where tasks stand */
	bool spawn_stacks; /* agents look where tasks are spawned */
	bool only_probes;  /* agents record nothing */
};

/* What a wish of so many bytes is rounded to: a power of two within the limits above. */
uint64_t lobby_ring_bytes(uint64_t wish);
/*
 * Afterwards lobby->ring_words may be less than asked for, where a resource limit forbids more.
 * ERR_TOO_LARGE: that on file sizes forbids any. SIGXFSZ must be ignored.
 */
int lobby_open(struct lobby *l, const struct lobby_opts *o, struct err *e);
/* By the thread that opened it. Agents know at once that the tool has left. */
void lobby_close(struct lobby *l);
/* "The tool is at work", for agents that wait for an answer. Every round of the loop, and while
 * something else than this thread is at work for it. */
void lobby_heartbeat(struct lobby *l);

/* The header of a door's region, without the rings. NULL with errno set. */
struct wire_region *lobby_map_region(const struct lobby *l, uint32_t door);
void lobby_unmap_region(struct wire_region *r);
/* For a region that cannot be mapped: its process is told that nothing of it is recorded, so that
 * it does not wait. */
void lobby_answer_nothing(const struct lobby *l, uint32_t door);

/* Where a thread's ring lies. */
struct lobby_ring {
	uint32_t door, big;
	uint64_t off; /* in the region */
	uint64_t words;
};

/* big is what the slot says of itself; -1 if that is absurd. */
int lobby_find_ring(const struct lobby *l, uint32_t door, uint32_t slot, uint32_t big,
		    struct lobby_ring *r);
const uint64_t *lobby_map_ring(const struct lobby *l, const struct lobby_ring *r);
void lobby_unmap_ring(const struct lobby_ring *r, const uint64_t *ring);

/* Gives back the memory of the words [from, to) of a ring, as they lie there; whole pages only. */
void lobby_punch_ring(const struct lobby *l, const struct lobby_ring *r, uint64_t from,
		      uint64_t to);
/* All memory of the door's region; then the door is free for the next process. Nobody may use it
 * any more. */
void lobby_recycle_door(const struct lobby *l, uint32_t door);

/*
 * How much memory all that grows may take from now on: rings, stacks and paths. What finds none is
 * lost and counted. Never more than before.
 */
void lobby_limit_memory(struct lobby *l, uint64_t bytes);
/* Sets is_tight, by what agents say that their rings take. */
void lobby_check_memory(struct lobby *l);
/* The memory of these segments (bits) of a thread's ring was given back, or soon will be. */
void lobby_credit(const struct lobby *l, struct wire_thread *t, bool is_big, uint64_t segments);

/* Sleeps until the doorbell is no longer `seen`, a signal came, or the time is over. */
void lobby_wait(const struct lobby *l, uint32_t seen, uint64_t timeout_ns);
void lobby_wake(const uint32_t *word); /* whoever waits on this word of the shared memory */

#endif
