// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The tasks that stand first by some number, in memory for these alone. A first pass chooses them;
 * how their polls and waits were distributed is asked of a second one, which meets the same tasks
 * under the same numbers (model_task.nr).
 */
#ifndef ANALYZE_BY_TASK_H
#define ANALYZE_BY_TASK_H

#include "base/histogram.h"
#include "model/recording.h"

/* As struct by_type_row has them, of one task. */
struct by_task_detail {
	struct histogram poll, sched, idle;
};

struct by_task_row {
	struct model_task task;
	struct by_task_detail *detail; /* NULL: was not asked for */
};

struct by_task;

/*
 * Keeps the `limit` tasks with the greatest key, of equals those that were seen first; 0: all.
 * Key is asked once for each task, when it is over; its row has no detail then.
 */
struct by_task *by_task_new(uint64_t limit, uint64_t (*key)(void *arg, const struct by_task_row *),
			    void *arg);
void by_task_free(struct by_task *b);
extern const struct model_ops by_task_ops; /* first pass; the sink is the struct by_task */
/* After the first pass: greatest key first. */
struct by_task_row *by_task_get_rows(struct by_task *b, size_t *nr);
uint64_t by_task_get_nr_seen(const struct by_task *b); /* those not kept too */

/* Asks for detail of the first `max` rows, after by_task_get_rows: about 5 KB each. */
void by_task_want_detail(struct by_task *b, size_t max);
extern const struct model_ops by_task_detail_ops; /* second pass, the same sink */

#endif
