// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a test of the agent's core needs around it: a lobby, a region, and a thread that records. */
#ifndef UNIT_AGENT_WORLD_H
#define UNIT_AGENT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core.h"

#define RING_WORDS    512
#define SEGMENT_WORDS 64

static struct wire_lobby lobby;
static struct wire_region *region;
static __thread struct wire_thread *mine; /* as the hooks know it */

static inline uint64_t find_tid_off(void)
{
	uint32_t tid = syscall(SYS_gettid);
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	for (uint64_t off = 0; off < 2048; off += 4)
		if (*(uint32_t *)(tp + off) == tid)
			return off;
	return 0;
}

static inline void claimed(struct wire_thread *t)
{
	mine = t;
}

/* No table is hooked yet. */
static inline void world_init_rings(uint32_t nr_big, uint64_t big_words)
{
	lobby = (struct wire_lobby){ .ring_words = big_words,
				     .small_words = RING_WORDS,
				     .nr_big = nr_big };
	region = mmap(NULL, wire_region_size(&lobby), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	core_page = (struct core_page){ .threads = region->threads,
					.fast_threads = region->threads,
					.tid_off = find_tid_off(),
					.clock = WIRE_CLOCK_TSC,
					.claimed = claimed,
					.region = region,
					.lobby = &lobby };
	memset(core_tables, 0, sizeof(core_tables));
}

static inline void world_init(void)
{
	world_init_rings(0, RING_WORDS);
}

static inline int tear_down(void **state)
{
	munmap(region, wire_region_size(&lobby));
	core_page = (struct core_page){ 0 };
	mine = NULL;
	return 0;
}

/* Reads one event at the tail and consumes it. */
static inline unsigned take_event(struct wire_thread *t, uint64_t words[5])
{
	static const uint8_t lengths[EV_MAX] = {
#define EVENT(nr, NAME, name, task, a, b) [nr] = EVENT_WORDS_##NAME,
#define FLAG(NAME, bit, name, ev)
#include "wire/event.def"
#undef EVENT
#undef FLAG
	};
	uint64_t *at, size, n, rest;
	unsigned kind;

	for (;;) {
		uint32_t big = t->tail >= t->ring_from ? t->big : 0;
		uint64_t from = big ? t->ring_from : 0;

		if (t->tail == t->head)
			return 0;
		size = wire_segment_words(wire_ring_words(&lobby, big));
		n = (t->tail - from) / size;
		rest = size - (t->tail - from) % size;
		at = (uint64_t *)((char *)region +
				  wire_ring_off(&lobby, t - region->threads, big)) +
		     (t->order[big != 0][n % WIRE_MAX_SEGMENTS] + 1) * size - rest;
		if (*at)
			break;
		t->tail += rest;
		assert_true(t->tail <= t->head);
	}
	kind = *at & 31;
	assert_true(lengths[kind] > 0);
	assert_true(lengths[kind] <= rest);
	for (unsigned i = 0; i < lengths[kind]; i++)
		words[i] = at[i];
	t->tail += lengths[kind];
	return kind;
}

#endif
