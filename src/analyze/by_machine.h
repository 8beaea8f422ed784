// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the perf report of async-std told of its *machines*, for today's runtimes. A machine is a
 * thread that polls tasks, or would have: a worker. A *blockade* is one poll, of a task that keeps
 * its worker, as long as the limit or longer: whoever watched the machine would have found that it
 * makes no progress. A *ghost* is a task whose spawn was not seen. Tasks are those that machines
 * poll: neither closures of the blocking pool nor root futures.
 */
#ifndef ANALYZE_BY_MACHINE_H
#define ANALYZE_BY_MACHINE_H

#include "model/recording.h"

struct by_machine_row {
	struct model_thread thread; /* its own polls count those of roots and closures, too */
	uint64_t nr_tasks;	    /* it polled, each once */
	uint64_t polls, nr_blockades;
	uint64_t nr_completed; /* tasks, in a poll on it */
	uint64_t nr_timed;     /* … whose spawn was seen */
	uint64_t timed_ns;     /* from spawn to end, of all of them */
};

struct by_machine_task {
	struct model_task task;
	uint64_t nr_blockades;
};

struct by_machine_parent {
	struct model_key key;
	uint64_t nr_children, nr_blocked; /* blocked: with at least one blockade */
};

struct by_machine_opts {
	const struct recording *rec;
	uint64_t blockade_ns;
	/* How many tasks to keep, those with the greatest rank, of equals those seen first; 0: all.
	 * Of more than a million parents those with fewest children are forgotten, unless all tasks
	 * are kept. */
	uint64_t limit;
	uint64_t (*rank)(void *arg, const struct by_machine_task *task);
	void *arg;
};

struct by_machine;

struct by_machine *by_machine_new(const struct by_machine_opts *o);
void by_machine_free(struct by_machine *b);
extern const struct model_ops by_machine_ops; /* the sink is the struct by_machine */

/* The rest after the pass. What is given stays good until by_machine_free. */
const struct by_machine_row *by_machine_get_rows(struct by_machine *b, size_t *nr); /* by number */
const struct by_machine_task *by_machine_get_tasks(struct by_machine *b, size_t *nr);
/* In no order. */
const struct by_machine_parent *by_machine_get_parents(struct by_machine *b, size_t *nr);
uint64_t by_machine_get_nr_tasks(const struct by_machine *b); /* those not kept too */
uint64_t by_machine_get_nr_parents(const struct by_machine *b);
uint64_t by_machine_get_nr_ghosts(const struct by_machine *b);
/* Machines that polled no task: workers that a runtime launched, and threads that bear the name of
 * machines. */
uint64_t by_machine_get_nr_idle(struct by_machine *b);

#endif
