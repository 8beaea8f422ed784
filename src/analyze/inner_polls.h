// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that sums the polls of inner futures, of those that were recorded one by one
 * (record --futures). What a future took by itself is without the futures inside of it, as far as
 * these are recorded, too.
 */
#ifndef ANALYZE_INNER_POLLS_H
#define ANALYZE_INNER_POLLS_H

#include "model/recording.h"

struct inner_polls_row {
	uint64_t polls;
	uint64_t nr_ready, nr_pending, nr_unwound; /* of these, as far as it is known */
	uint64_t total_ns; /* without polls inside of polls of the same future */
	uint64_t self_ns, max_ns;
};

struct inner_polls {
	struct inner_polls_row *v; /* by number of the future */
	uint32_t nr;
	uint64_t nr_unknown; /* polls of futures that nobody defined */
};

void inner_polls_init(struct inner_polls *p, const struct recording *rec);
void inner_polls_release(struct inner_polls *p);
extern const struct model_ops inner_polls_ops; /* the sink is the struct inner_polls */

#endif
