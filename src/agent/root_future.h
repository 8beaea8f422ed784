// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the future of a root lies: in the frame of the function that waits for it, as the plan says
 * (struct wire_framed). It is pinned there, so it is looked for once.
 */
#ifndef AGENT_ROOT_FUTURE_H
#define AGENT_ROOT_FUTURE_H

#include "agent/agent.h"

struct root_future {
	uint64_t addr;	/* 0: it is not known */
	uint32_t start; /* of its recipe; path.h */
	uint16_t type;	/* EVENT_TYPE_NONE: it is not known by the frame */
	bool is_done;
	uint64_t frame; /* of the function that waits for it, 0: none that we know */
};

/* What the tool planned since the last time, or is_again: all, in a forked child. */
void root_futures_add(const struct wire_region *r, bool is_again) HIDDEN;
/*
 * When the future was polled, and the caller of `frame` waits for it. The future's frame is
 * not above the one at `outermost`.
 */
void root_future_find(struct root_future *f, const uint64_t *frame, uint64_t outermost) HIDDEN;
/*
 * The type of the root that begins in a caller of `frame`, near to it and below the frame at `end`;
 * EVENT_TYPE_NONE: it is not known.
 */
uint16_t root_future_type(const uint64_t *frame, uint64_t end) HIDDEN;
/* The number of the path that it stands at; 0: it is not known. */
uint64_t root_future_path(struct root_future *f) HIDDEN;

#endif
