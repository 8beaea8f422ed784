// SPDX-License-Identifier: MIT OR Apache-2.0
/* A sink that sums up by runtime: tasks and threads that belong to it. */
#ifndef ANALYZE_BY_RUNTIME_H
#define ANALYZE_BY_RUNTIME_H

#include "model/recording.h"

struct by_runtime_row {
	uint64_t nr_tasks, nr_alive, polls;
	uint64_t busy_ns; /* of its tasks */
	uint64_t nr_workers, nr_blocking;
};

struct by_runtime;

struct by_runtime *by_runtime_new(const struct recording *rec);
void by_runtime_free(struct by_runtime *b);
extern const struct model_ops by_runtime_ops; /* the sink is the struct by_runtime */
/* One for each runtime of the recording, and one more for what belongs to none that is known. */
const struct by_runtime_row *by_runtime_get_rows(const struct by_runtime *b);

#endif
