// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a test of the agent's core needs around it: a lobby, a region, and a thread that records. */
#ifndef UNIT_AGENT_WORLD_H
#define UNIT_AGENT_WORLD_H

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core.h"

#define RING_WORDS 512

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
static inline void world_init(void)
{
	lobby = (struct wire_lobby){ .ring_words = RING_WORDS,
				     .small_words = RING_WORDS,
				     .stale_ticks = INT64_MAX };
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

static inline int tear_down(void **state)
{
	munmap(region, wire_region_size(&lobby));
	core_page = (struct core_page){ 0 };
	mine = NULL;
	return 0;
}

#endif
