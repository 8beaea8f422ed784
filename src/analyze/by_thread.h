// SPDX-License-Identifier: MIT OR Apache-2.0
/* A sink that keeps every thread with how long the polls on it took. */
#ifndef ANALYZE_BY_THREAD_H
#define ANALYZE_BY_THREAD_H

#include "base/histogram.h"
#include "model/recording.h"

struct by_thread_row {
	struct model_thread thread;
	struct histogram poll;
};

struct by_thread;

struct by_thread *by_thread_new(void);
void by_thread_free(struct by_thread *b);
extern const struct model_ops by_thread_ops; /* the sink is the struct by_thread */
/* After the pass, in order of their numbers. */
const struct by_thread_row *by_thread_get_rows(const struct by_thread *b, size_t *nr);

#endif
