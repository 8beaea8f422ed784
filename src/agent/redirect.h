// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Functions of the program whose calls come to us first. The first instructions of such a function
 * give way to a jump, and are moved to a page of ours nearby, from where a jump leads on into the
 * rest. All of them are written, or none; and only while the process has a single thread, before
 * any of the program's own code runs.
 */
#ifndef AGENT_REDIRECT_H
#define AGENT_REDIRECT_H

#include "agent/agent.h"

struct redirect {
	hook_fn moved; /* the function, as if it were not redirected */
	uint32_t flag_off, local_off;
	uint16_t type;
	uint8_t kind; /* enum wire_redirect_kind */
	uint64_t addr;
};

extern struct redirect redirects[WIRE_MAX_REDIRECTS] HIDDEN;
extern const void *const root_hooks[WIRE_MAX_REDIRECTS] HIDDEN; /* hooks_roots.c: one for each */

/*
 * hooks_alloc.c: one for each kind of allocator, as a process has one. A second of the same kind,
 * in a library, stays as it is.
 */
#define ALLOC_INDEX(kind) ((kind)-WIRE_ALLOC_MALLOCX)
#define NR_ALLOC_KINDS	  2
typedef void *(*alloc_fn)(uint64_t, uint64_t);
extern alloc_fn alloc_moved[NR_ALLOC_KINDS] HIDDEN; /* the function; NULL: none is redirected */
extern const void *const alloc_hooks[NR_ALLOC_KINDS] HIDDEN;

/* A waker's table whose data is what Tokio keeps in an Arc; its hooks stand in its slots. */
struct root_waker {
	uint64_t addr;
	hook_fn wake, wake_by_ref;
	const void *wake_hook, *wake_by_ref_hook;
};

struct root_waker *root_waker_take(uint64_t addr) HIDDEN; /* NULL: no more can be hooked */
bool root_waker_is_hook(uint64_t word) HIDDEN;

/* Returns how many were written: nr, or 0. */
uint32_t redirect_all(const struct patch_object *o, const struct wire_redirect *plan,
		      uint32_t nr) HIDDEN;
/* The same in a forked child, where they are. */
uint32_t redirect_again(uint64_t base, const struct wire_redirect *plan, uint32_t nr) HIDDEN;
/*
 * Polls of inner futures: each that is as planned, and has bytes to move. first is the index of the
 * first. Returns how many were written.
 */
uint32_t redirect_futures(const struct patch_object *o, const struct wire_future *plan, uint32_t nr,
			  uint32_t first) HIDDEN;

#endif
