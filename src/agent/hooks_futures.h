// SPDX-License-Identifier: MIT OR Apache-2.0
/* Inner futures whose polls come to us, by the index that their plan has in the region. */
#ifndef AGENT_HOOKS_FUTURES_H
#define AGENT_HOOKS_FUTURES_H

#include "agent/agent.h"

struct future {
	uint64_t poll; /* goes on with it: the function, or its first instructions elsewhere */
	uint64_t addr; /* of the function, 0: there is no such future */
	struct wire_result result;
	uint32_t number; /* of its definition */
};

#define FUTURE_STUB_BYTES 16
extern struct future futures[WIRE_MAX_FUTURES] HIDDEN;
extern const char future_stubs[WIRE_MAX_FUTURES * FUTURE_STUB_BYTES] HIDDEN;

const void *future_stub(uint32_t index) HIDDEN; /* what calls of its poll are led to */
bool future_is_stub(uint64_t word) HIDDEN;
void future_set(uint32_t index, const struct wire_future *plan, uint64_t addr,
		uint64_t poll) HIDDEN;
/* In a forked child, where they are led here already. Returns how many are. */
uint32_t future_set_again(uint64_t base, const struct wire_future *plan, uint32_t nr) HIDDEN;

#endif
