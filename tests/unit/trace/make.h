// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Traces for the tests of the trace file: made in a memfd, which /proc names like any other file.
 */
#ifndef TESTS_TRACE_MAKE_H
#define TESTS_TRACE_MAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/vec.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct rng {
	uint64_t s;
};

uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);

struct memory_file {
	int fd;
	char path[64];
};

void memory_file_init(struct memory_file *f, const void *data, size_t len);
void memory_file_release(struct memory_file *f);
void *memory_file_read(const struct memory_file *f, size_t *len); /* the caller's to free */

extern const struct trace_meta make_meta;
/* A writer on f with make_meta and anchors of one tick = one ns. f keeps its own descriptor. */
struct trace_writer *make_writer(const struct memory_file *f);
/* Any event of this kind, with values that the writer must keep. */
struct event make_event(struct rng *r, unsigned kind, uint64_t time);
/* A small trace of nr_threads × nr_events events with an end block, flushed now and then. */
void make_trace(struct memory_file *f, uint64_t seed, unsigned nr_threads, unsigned nr_events);
void assert_same_event(const struct event *got, const struct event *want);

#endif
