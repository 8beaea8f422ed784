// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Counts polls that hold their worker longer than a limit, and says when they are no accident: on
 * a busy machine the kernel takes the CPU away in the middle of a poll now and then, or from
 * whoever holds a lock. So a few polls a little over the limit are not enough. A poll that is N
 * times over it counts N times.
 */
#ifndef ANALYZE_OVER_LIMIT_H
#define ANALYZE_OVER_LIMIT_H

#include "analyze/analyze.h"

struct over_limit {
	uint64_t nr, ns; /* polls over the limit, and how long they held it in all */
	uint64_t weight, critical_weight;
	struct worst_run worst;
};

/* Is it a poll, and of one who has a worker? What runs in the blocking pool or in block_in_place
 * keeps nobody waiting. */
static inline bool run_holds_worker(const struct model_run *run)
{
	return !run->flags && run->task->kind != TRACE_BLOCKING && !run->is_off_worker;
}

/* blocked-poll tells of the rest. */
static inline uint64_t run_awake_ns(const struct model_run *run)
{
	uint64_t ns = run->end_ns - run->start_ns;

	return ns - MIN(ns, run->blocked_ns);
}

static inline void over_limit_add(struct over_limit *o, const struct model_run *run, uint64_t ns,
				  uint64_t limit_ns, uint64_t critical_ns)
{
	o->nr++;
	o->ns += ns;
	o->weight += ns / MAX(limit_ns, UINT64_C(1));
	o->critical_weight += ns / MAX(critical_ns, UINT64_C(1));
	worst_run_note(&o->worst, run, ns);
}

static inline enum severity over_limit_severity(const struct over_limit *o, uint64_t count)
{
	return o->critical_weight >= count ? SEVERITY_CRITICAL : SEVERITY_WARNING;
}

#endif
