// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Content of a section of the agent's file with this name, so that the tool sees before it starts a
 * program whether the two fit: magic, version and layout are those of wire/region.h.
 */
#ifndef WIRE_STAMP_H
#define WIRE_STAMP_H

#include <stdint.h>

#define WIRE_STAMP_SECTION ".futrace.agent"

struct wire_stamp {
	uint64_t magic;
	uint32_t version;
	uint32_t layout;
};
_Static_assert(sizeof(struct wire_stamp) == 16, "wire_stamp");

#endif
