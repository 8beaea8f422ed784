// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads a trace: its definitions, and all events of all threads in the order of time, in one
 * streaming pass with memory bounded by the number of threads, not of events. The bytes are
 * hostile input: whatever is broken is skipped and counted, never believed.
 *
 * A trace may be read while it grows: a file that is being written, a pipe, or bytes that the
 * caller feeds. Definitions are then those that have come so far; what a getter returned is good
 * until more is read. Events wait until it is certain that no earlier one follows: the writer marks
 * how far that is, about once a second (docs/FORMAT.md, anchor). The result does not depend on the
 * pieces in which the bytes came.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "base/err.h"
#include "trace/event.h"
#include "trace/sink.h"
#include "trace/trace.h"

struct trace;

/* Faults of the file. All zero for a good one. */
struct trace_damage {
	bool cut;		/* ends without an end block */
	bool is_live;		/* … since it is still being written */
	uint64_t bad_blocks;	/* failed their checksum or did not decode */
	uint64_t bad_events;	/* undecodable tail of a block, unknown kinds */
	uint64_t bytes_skipped; /* garbage between blocks, a partial block at the end */
};

/* Scans the block headers and loads all definitions. NULL: not a trace (ERR_NOT_TRACE), a newer
 * version (ERR_VERSION), or nothing usable in it (ERR_BAD_TRACE). */
struct trace *trace_open(const char *path, struct err *e);
/*
 * The same of a file that may still be written, or of a pipe: without what comes later. It is over
 * when it has its end, when its writer ended, or when the pipe is closed.
 */
struct trace *trace_follow(const char *path, struct err *e);
/*
 * Waits until more may have come, for at most timeout_ms, and reads its definitions. trace_read
 * may have events then. -1: it turned out to be no trace; close it.
 */
int trace_wait(struct trace *t, int timeout_ms, struct err *e);
/* A trace whose bytes the caller has, in pieces of any size. -1 as above. */
struct trace *trace_new(struct err *e);
int trace_feed(struct trace *t, const void *bytes, size_t len, struct err *e);
int trace_feed_end(struct trace *t, struct err *e);
/*
 * A sink for a writer in the same process; feeds a trace_new(). The reader must take the events
 * between two blocks, or at least once a second: events that wait take memory.
 */
struct trace_sink *trace_get_sink(struct trace *t);
/* No more will come: what trace_read still has is all. */
bool trace_is_over(const struct trace *t);
/*
 * The number of late events of a trace that grows: their thread was stopped between stamp and
 * publication, so they may have come too late for their place in time. They are returned when they
 * come. trace_open() of the finished file puts them where they belong.
 */
uint64_t trace_get_nr_late(const struct trace *t);
void trace_close(struct trace *t);

const struct trace_meta *trace_get_meta(const struct trace *t);
const struct trace_end *
trace_get_end(const struct trace *t); /* kind TRACE_CUT when there is none */
const struct trace_damage *trace_get_damage(const struct trace *t);
const struct trace_object *trace_get_objects(const struct trace *t, uint32_t *nr);
const struct trace_runtime *trace_get_runtimes(const struct trace *t, uint32_t *nr);
const struct trace_type *trace_get_types(const struct trace *t, uint32_t *nr);
const struct trace_thread *trace_get_threads(const struct trace *t, uint32_t *nr);
const struct clock_anchor *trace_get_anchors(const struct trace *t, uint32_t *nr);
/* The kernel's counts for threads, in order of thread and time; counts only grow. While a trace
 * grows, they and the stands are neither in order nor in ns. */
const struct trace_cpu *trace_get_cpu(const struct trace *t, uint32_t *nr);
/* The clocks at time 0 of the recording; all zero but the ticks when not known. */
struct clock_anchor trace_get_zero(const struct trace *t);
const struct trace_stack *trace_get_stacks(const struct trace *t, uint32_t *nr);
const struct trace_instance *trace_get_instances(const struct trace *t, uint32_t *nr);
/* A step's outer one has a lower number. */
const struct trace_step *trace_get_steps(const struct trace *t, uint32_t *nr);
/* By the number that run-start events have; without steps: number 0, and undefined numbers. */
const struct trace_path *trace_get_paths(const struct trace *t, uint32_t *nr);
const struct trace_future *trace_get_futures(const struct trace *t, uint32_t *nr);
/* Where tasks stood at the final census, in no order. */
const struct trace_stand *trace_get_stands(const struct trace *t, uint32_t *nr);
/* By the number that events have; "" when it is not known. */
const char *trace_get_string(const struct trace *t, uint64_t number);
uint64_t trace_get_size(const struct trace *t); /* bytes of the file */
uint64_t
trace_get_duration(const struct trace *t); /* ns from time 0 to the last stamp or the end */
uint64_t trace_get_nr_events(const struct trace *t); /* as the block headers say */

/*
 * The next events in order of time (ns since the start of the recording; each stamp converted
 * once). Ticks are finer than ns and decide first, then the number of the thread: so two events of
 * one nanosecond stand in the order in which they happened. Returns how many lie in *evs, which is
 * good until the next call; 0 at the end, or if the next ones have to wait.
 */
size_t trace_read(struct trace *t, const struct event **evs);
/* Only of trace_open(): others forget what was read. */
void trace_rewind(struct trace *t);

#endif
