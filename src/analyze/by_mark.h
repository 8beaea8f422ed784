// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that counts the program's own marks and spans by their names, and how long spans lasted.
 * Memory grows with names.
 */
#ifndef ANALYZE_BY_MARK_H
#define ANALYZE_BY_MARK_H

#include "base/histogram.h"
#include "model/recording.h"

struct by_mark_row {
	bool is_span;
	uint32_t name; /* a string of the trace, 0: not known */
	uint64_t nr;
	uint64_t nr_in_tasks;	 /* of these, in the run of a task; of a span: its start */
	uint64_t nr_open;	 /* the recording ended before them */
	uint64_t nr_moved;	 /* … or they ended on another thread */
	struct histogram lasted; /* spans that are over */
};

struct by_mark;

struct by_mark *by_mark_new(void);
void by_mark_free(struct by_mark *b);
extern const struct model_ops by_mark_ops; /* the sink is the struct by_mark */
/* After the pass, in the order in which they were first told. */
const struct by_mark_row *by_mark_get_rows(const struct by_mark *b, size_t *nr);

#endif
