// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What people take for one type of future may be known from two sides: by await paths (steps), and
 * by polls that were recorded one by one (record --futures). Its name is the same on both. A type
 * may have several functions that poll it, and each of them is a future of the trace.
 */
#ifndef MODEL_FUTURE_KINDS_H
#define MODEL_FUTURE_KINDS_H

#include "model/recording.h"

#define FUTURE_KINDS_NONE UINT32_MAX

struct future_kinds {
	uint32_t nr; /* the futures of model/steps.h first, then those that are on no path */
	uint32_t *of_future; /* by number of the trace's future: its kind */
	uint32_t *
		future_of; /* by kind: one of them; FUTURE_KINDS_NONE: its polls are not recorded */
};

void future_kinds_init(struct future_kinds *k, const struct recording *rec);
void future_kinds_release(struct future_kinds *k);

#endif
