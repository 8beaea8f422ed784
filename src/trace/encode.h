// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One block of events being filled: put events until it is full, then take its raw bytes and reset
 * it. Only for the files of this folder.
 */
#ifndef TRACE_ENCODE_H
#define TRACE_ENCODE_H

#include "trace/event.h"
#include "trace/format.h"

struct encode_column {
	uint8_t *start, *p, *limit; /* there is slack behind limit for one more event */
};

struct encode_task {
	uint64_t id, addr;
	uint64_t path; /* of its latest run */
	uint32_t next; /* dictionary index, or DICT_NONE */
	uint16_t type;
	bool has_addr;
};

#define ENCODE_SLOTS 8192 /* a power of two */
#define ENCODE_ASIDE \
	0x80 /* in layout_of: the caller of encoder_put_all looks at this kind itself */

struct encoder {
	uint32_t nr;   /* events so far */
	uint32_t tail; /* nr at which it is full; lowered when a column is */
	uint64_t first_tick, last_tick;
	uint8_t *ops, *low, *high;
	struct encode_column wide, refs, defs, args;
	/* shape by kind, flags, and whether it has a path, plus one; 0: none yet */
	uint8_t op_of[EV_MAX << (EVENT_FLAG_BITS + 1)];
	uint8_t layout_of[256]; /* by kind, whatever that says; with ENCODE_ASIDE */
	uint8_t shapes[SHAPES_MAX * SHAPE_LEN];
	uint32_t nr_shapes;
	uint32_t last[EV_MAX]; /* dictionary index of this kind's last task */
	uint64_t prev_a[EV_MAX], prev_b[EV_MAX];
	uint64_t prev_id, prev_addr;
	struct encode_task *tasks;
	uint32_t nr_tasks, cap_tasks;
	uint16_t *slots; /* hash of (id, type) -> index; checked when used, so never cleared */
	void *memory;
};

void encoder_init(struct encoder *n);
void encoder_release(struct encoder *n);
/* Must not be full. The kind must be one of event.def. */
void encoder_put(struct encoder *n, const struct event *ev);
/*
 * Puts events behind the first of a block, until the block is full, all are put, or one names a
 * thread or is of no kind. Returns how many were put.
 */
size_t encoder_put_all(struct encoder *n, const struct event *ev, size_t nr);
void encoder_reset(struct encoder *n);
/* Writes the raw bytes into out, which has RAW_LEN_MAX bytes; returns how many. */
size_t encoder_finish(const struct encoder *n, uint8_t *out);

static inline bool encoder_is_full(const struct encoder *n)
{
	return n->nr >= n->tail;
}

#endif
