// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/inner_polls.h"

#include <stdlib.h>

void inner_polls_init(struct inner_polls *p, const struct recording *rec)
{
	*p = (struct inner_polls){ .v = xcalloc(rec->nr_futures + 1, sizeof(*p->v)),
				   .nr = rec->nr_futures };
}

void inner_polls_release(struct inner_polls *p)
{
	free(p->v);
	*p = (struct inner_polls){ 0 };
}

static void on_future(void *sink, const struct model_future *f)
{
	struct inner_polls *p = sink;
	uint64_t ns = f->end_ns - f->start_ns;
	struct inner_polls_row *row;

	if (f->future >= p->nr) {
		p->nr_unknown++;
		return;
	}
	row = &p->v[f->future];
	row->polls++;
	row->nr_ready += !!(f->flags & EF_FUTURE_READY);
	row->nr_pending += !!(f->flags & EF_FUTURE_PENDING);
	row->nr_unwound += !!(f->flags & EF_FUTURE_UNWOUND);
	row->self_ns += f->self_ns;
	if (!f->is_recursive)
		row->total_ns += ns;
	row->max_ns = MAX(row->max_ns, ns);
}

const struct model_ops inner_polls_ops = { .future = on_future };
