// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads one thread's ring and hands the events to a stream of the trace file. Hot: everything that
 * the program does passes through here. What lies in a ring was written by the target and may be
 * anything: a stretch that makes no sense is skipped up to the head, counted, and marked in the
 * stream by a LOST event of kind 0.
 */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include "capture/instances.h"
#include "capture/lobby.h"
#include "capture/texts.h"
#include "trace/writer.h"

struct drain {
	struct wire_thread *slot;
	const uint64_t *words; /* of the ring */
	const struct lobby *lobby;
	struct lobby_ring ring;
	struct trace_writer *writer;
	struct trace_stream *stream;
	struct instances *instances; /* of the process */
	struct texts *texts;	     /* the same */
	uint64_t ring_from;	     /* the count that the ring begins with */
	uint64_t segment_words;
	uint64_t pos;		    /* read up to here */
	uint64_t tail;		    /* what the producer knows of pos */
	uint64_t last_ticks;	    /* unwrapped, of the latest event */
	uint64_t nr_events[EV_MAX]; /* as the file has them, with those of our own */
	uint64_t root;		    /* what instances_number remembers of the thread */
	uint64_t nr_broken;	    /* stretches that made no sense */
	bool is_named;		    /* its name was looked for */
	uint64_t counted_pos;	    /* pos when the kernel was last asked about the thread */
	uint64_t counted_ns;	    /* … and when that was */
};

/*
 * Reads everything up to the present head, or until the file has max_bytes (0: no limit). Returns
 * about how many words that were, so that the caller knows how soon to come again.
 */
uint64_t drain_ring(struct drain *d, uint64_t max_bytes);

static inline bool drain_is_empty(const struct drain *d)
{
	return __atomic_load_n(&d->slot->head, __ATOMIC_ACQUIRE) == d->pos;
}

#endif
