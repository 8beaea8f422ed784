// SPDX-License-Identifier: MIT OR Apache-2.0
/* The analyses, in the order in which help lists them: one line each. */
#ifndef ANALYZE_ANALYSES_H
#define ANALYZE_ANALYSES_H

#include "analyze/analyze.h"

/* clang-format off */
#define ANALYSES \
	ANALYSIS(blocked_poll) \
	ANALYSIS(long_poll) \
	ANALYSIS(never_yields) \
	ANALYSIS(sched_delay) \
	ANALYSIS(self_wakes) \
	ANALYSIS(idle_wakes) \
	ANALYSIS(worker_imbalance) \
	ANALYSIS(blocking_queue) \
	ANALYSIS(lock_queue) \
	ANALYSIS(task_leak) \
	ANALYSIS(never_polled) \
	ANALYSIS(cancel_storm) \
	ANALYSIS(lost_panic) \
	ANALYSIS(large_future)
/* clang-format on */

#define ANALYSIS(name) extern const struct analysis analysis_##name;
ANALYSES
#undef ANALYSIS

#endif
