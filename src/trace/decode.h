// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One block of events being read, event by event. Whatever the bytes say, it stays inside them; a
 * block that turns out to be broken ends early and tells how many events that cost. Only for the
 * files of this folder.
 */
#ifndef TRACE_DECODE_H
#define TRACE_DECODE_H

#include "base/vec.h"
#include "trace/event.h"
#include "trace/format.h"

struct decode_task {
	uint64_t id, addr;
	uint64_t path; /* of its latest run */
	uint32_t next;
	uint16_t type;
	bool has_addr;
};

struct decode_shape {
	uint8_t kind, flags, layout, is_known;
};

struct decoder {
	uint32_t i, nr;	 /* events taken, events there are */
	uint64_t tick;	 /* of event i, once decoder_start or decoder_next was called */
	uint64_t nr_bad; /* events lost to damage, and those of unknown kinds */
	const uint8_t *ops, *low, *high;
	struct cursor wide, refs, defs, args;
	uint32_t nr_shapes;
	struct decode_shape shapes[256];
	uint32_t last[256];
	uint64_t prev_a[256], prev_b[256];
	uint64_t prev_id, prev_addr;
	VEC(struct decode_task) tasks;
};

/*
 * raw stays the caller's and must live as long as events are taken. False: nothing in it is
 * usable.
 */
bool decoder_start(struct decoder *d, const struct block_header *h, const uint8_t *raw);
/*
 * Takes event i into *ev (not its time, not its thread). False: an unknown kind or the broken end:
 * there is no event in *ev, go on as long as d->i < d->nr.
 */
bool decoder_next(struct decoder *d, struct event *ev);
void decoder_release(struct decoder *d);

#endif
