// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_future_exact.h"

/* Several functions may poll futures of one type: what is not seen of one is not seen of it. */
static void add_function(struct by_future_row *row, const struct trace_future *future,
			 const struct inner_polls_row *from)
{
	struct inner_polls_row *to = &row->exact;

	row->seen = row->future ? MAX(row->seen, future->seen) : future->seen;
	row->future = future;
	to->polls += from->polls;
	to->nr_ready += from->nr_ready;
	to->nr_pending += from->nr_pending;
	to->nr_unwound += from->nr_unwound;
	to->total_ns += from->total_ns;
	to->self_ns += from->self_ns;
	to->max_ns = MAX(to->max_ns, from->max_ns);
}

/*
 * Each that finished was ready once. Paths take those that a loop begins at the same line for one,
 * and do not see what is ready at once; what they know of the others stays.
 */
static void settle_ends(struct by_future_row *row)
{
	uint64_t rest;

	if (row->exact.nr_ready + row->exact.nr_pending + row->exact.nr_unwound < row->exact.polls)
		return; /* of some it is not known what they returned */
	row->nr_finished = MAX(row->nr_finished, row->exact.nr_ready);
	row->nr = MAX(row->nr, row->nr_finished + row->nr_dropped);
	rest = row->nr - row->nr_finished - row->nr_dropped;
	row->nr_unsure = MIN(row->nr_unsure, rest);
	row->nr_unknown = rest - row->nr_unsure;
}

/* That it was polled by nobody, but stood on paths, means that it was not hooked after all. */
static void settle(struct by_future_row *row)
{
	if (!row->exact.polls)
		return;
	if (row->seen == TRACE_FUTURE_ALL) {
		row->source = BY_FUTURE_EXACT;
		settle_ends(row);
	} else if (!row->nr) {
		row->source = BY_FUTURE_SOME;
	} else {
		return;
	}
	row->own = row->exact;
	row->polls = row->own.polls;
	row->poll_ns = row->own.total_ns;
}

void by_future_add_exact(struct by_future *b, const struct recording *rec,
			 const struct future_kinds *kinds, const struct inner_polls *polls,
			 bool is_lossy)
{
	for (uint32_t i = 0; i < polls->nr; i++)
		add_function(&b->v[kinds->of_future[i]], &rec->futures[i], &polls->v[i]);
	for (uint32_t i = 0; i < b->nr; i++) {
		if (is_lossy && b->v[i].seen == TRACE_FUTURE_ALL)
			b->v[i].seen = TRACE_FUTURE_SOME;
		settle(&b->v[i]);
	}
}

const char *by_future_function(const struct by_future_row *row)
{
	return row->step ? row->step->function : row->future->is_generated ? row->future->name : "";
}

const char *by_future_name(const struct by_future_row *row)
{
	return row->step ? step_name(row->step) : row->future->name;
}

bool by_future_is_generated(const struct by_future_row *row)
{
	return row->step ? row->step->is_generated : row->future->is_generated;
}
