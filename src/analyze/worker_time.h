// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a cost is compared with: the time that all workers together have. */
#ifndef ANALYZE_WORKER_TIME_H
#define ANALYZE_WORKER_TIME_H

#include "analyze/analyze.h"

/* Of the workers' time: what takes more is a warning, what takes less is worth a look. */
#define WORKER_TIME_WARN_PERCENT 5

static inline bool is_costly(uint64_t ns, const struct analysis_input *in)
{
	uint64_t nr_workers = 0;

	for (size_t i = 0; i < in->nr_threads; i++)
		nr_workers += in->threads[i].kind == MODEL_WORKER;
	return ns && ns * 100 >= in->duration_ns * nr_workers * WORKER_TIME_WARN_PERCENT;
}

#endif
