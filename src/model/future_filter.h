// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which futures inside of tasks are shown. A pattern is a part of the name of a future or of its
 * function; `show` has the last word. A filter of zeroes shows all.
 */
#ifndef MODEL_FUTURE_FILTER_H
#define MODEL_FUTURE_FILTER_H

#include "base/opts.h"
#include "model/recording.h"

struct future_filter {
	bool only_generated; /* async fns and blocks */
	struct opt_list show, hide;
};

bool future_filter_is_set(const struct future_filter *f);
bool future_filter_wants(const struct future_filter *f, const struct trace_future *future);
bool future_filter_wants_step(const struct future_filter *f, const struct trace_step *s);

/* By number of the future on await paths, and of those whose polls were recorded: is it shown?
 * NULL: the filter is not set. The caller frees it. */
bool *future_filter_of_awaits(const struct future_filter *f, const struct recording *rec);
bool *future_filter_of_polls(const struct future_filter *f, const struct recording *rec);

#endif
