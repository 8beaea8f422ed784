// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_mark.h"

#include "base/map.h"
#include "base/vec.h"

struct by_mark {
	struct map index; /* by kind and name */
	VEC(struct by_mark_row) rows;
};

struct by_mark *by_mark_new(void)
{
	return xcalloc(1, sizeof(struct by_mark));
}

void by_mark_free(struct by_mark *b)
{
	vec_each (r, &b->rows)
		histogram_release(&r->lasted);
	vec_release(&b->rows);
	map_release(&b->index);
	free(b);
}

static struct by_mark_row *row_of(struct by_mark *b, uint32_t name, bool is_span)
{
	bool was_there;
	uint64_t *index = map_put(&b->index, (uint64_t)name << 1 | is_span, &was_there);

	if (!was_there) {
		*index = b->rows.nr;
		vec_push(&b->rows, (struct by_mark_row){ .is_span = is_span, .name = name });
	}
	return &b->rows.v[*index];
}

static void on_mark(void *sink, const struct model_mark *mark)
{
	struct by_mark_row *row = row_of(sink, mark->name, false);

	row->nr++;
	row->nr_in_tasks += !!mark->task;
}

static void on_span(void *sink, const struct model_span *span)
{
	struct by_mark_row *row = row_of(sink, span->name, true);

	row->nr++;
	row->nr_in_tasks += span->has_task;
	row->nr_open += span->is_open;
	row->nr_moved += span->end_thread != span->thread;
	if (!span->is_open)
		histogram_add(&row->lasted, span->end_ns - span->start_ns);
}

const struct model_ops by_mark_ops = { .mark = on_mark, .span = on_span };

const struct by_mark_row *by_mark_get_rows(const struct by_mark *b, size_t *nr)
{
	*nr = b->rows.nr;
	return b->rows.v;
}
