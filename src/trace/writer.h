// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes a trace file (docs/FORMAT.md). Errors are sticky: after the first one nothing more is
 * written, and trace_writer_error returns it. Only whole blocks go out, so that the file is
 * readable up to the last block whatever dies: a full block at once, all others with a flush.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include "base/err.h"
#include "trace/event.h"
#include "trace/sink.h"
#include "trace/trace.h"

struct trace_writer;
struct trace_stream; /* events of one thread */

/* Takes over fd (open for writing, at offset 0). Never fails; errors show later. */
struct trace_writer *trace_writer_new(int fd, const struct trace_meta *meta);

/*
 * The same with a second sink (borrowed until trace_writer_close), which gets each block that the
 * file gets. fd -1: no file. After an error of the second sink the file is still written, and the
 * sink gets nothing more.
 */
struct trace_writer *trace_writer_new_tee(int fd, struct trace_sink *tee,
					  const struct trace_meta *meta);

/*
 * Called before a block of events is written, so that what these events name can be defined first.
 */
void trace_writer_set_prepare(struct trace_writer *w, void (*prepare)(void *arg), void *arg);

/* Definitions get the numbers 0, 1, 2 … of their kind, which are returned. */
uint32_t trace_writer_object(struct trace_writer *w, const struct trace_object *o);
uint32_t trace_writer_runtime(struct trace_writer *w, const struct trace_runtime *r);
uint32_t trace_writer_type(struct trace_writer *w, const struct trace_type *t);
/* number: as spawn-stack events have it. */
void trace_writer_stack(struct trace_writer *w, uint32_t number, const struct trace_stack *s);
/* number: as instance events have it, 1 and on. */
void trace_writer_instance(struct trace_writer *w, uint32_t number, const struct trace_instance *i);
/* Returns its number, which the steps inside of it and paths refer to; TRACE_NO_STEP: there are too
 * many. s->outer is a step that was returned before. */
uint32_t trace_writer_step(struct trace_writer *w, const struct trace_step *s);
/* number: as run-start events have it, 1 and on. */
void trace_writer_path(struct trace_writer *w, uint32_t number, const struct trace_path *p);
/* Returns the number that events have; 0: it is empty, or there are too many. Ends at a zero. */
uint32_t trace_writer_string(struct trace_writer *w, const char *s, size_t len);
uint32_t trace_writer_future(struct trace_writer *w, const struct trace_future *f);
void trace_writer_stand(struct trace_writer *w, const struct trace_stand *s);
void trace_writer_anchor(struct trace_writer *w, const struct clock_anchor *a);

/* A thread and its stream; names and the tid come as THREAD_START / THREAD_NAME events. */
struct trace_stream *trace_writer_thread(struct trace_writer *w, uint32_t tid);
/* ev->time is in ticks since base_ticks and must not run backwards in one stream (it is clamped);
 * ev->thread is ignored. Hot path: a full block is compressed and written on the spot. */
void trace_stream_put(struct trace_stream *s, const struct event *ev);
/* The same of many, in less time. */
void trace_stream_put_all(struct trace_stream *s, const struct event *ev, size_t nr);
/* The kernel's counts for the thread; u->thread is ignored. */
void trace_stream_cpu(struct trace_stream *s, const struct trace_cpu *u);
void trace_stream_close(struct trace_stream *s); /* no more events; frees it */

/* Writes all half-filled blocks, with one write. Call it a few times a second: what was flushed
 * survives anything. */
void trace_writer_flush(struct trace_writer *w);

/*
 * Flushes, and writes a complete anchor: all events of earlier ticks were put. A reader of the
 * growing file can go on up to there.
 */
void trace_writer_mark(struct trace_writer *w, const struct clock_anchor *a);

uint64_t trace_writer_bytes(const struct trace_writer *w);	    /* of complete blocks */
const struct err *trace_writer_error(const struct trace_writer *w); /* NULL: none */

/* Flushes, writes the end block (end may be NULL: leaves the file as cut), closes fd, frees w and
 * streams. */
int trace_writer_close(struct trace_writer *w, const struct trace_end *end, struct err *e);

#endif
