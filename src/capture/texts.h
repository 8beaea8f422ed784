// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Names of marks, spans and fields: the agent keeps each once in the region, and events have its
 * number there; in the file they have the number of a string.
 */
#ifndef CAPTURE_TEXTS_H
#define CAPTURE_TEXTS_H

#include "trace/writer.h"
#include "wire/region.h"

struct texts {
	const struct wire_region *region;
	uint32_t numbers[WIRE_MAX_TEXTS]; /* in the file; 0: not yet, or it has none */
};

/* Puts the number of a string into an event that came from a ring and has a name. */
void texts_number(struct texts *t, struct trace_writer *w, struct event *ev);

#endif
