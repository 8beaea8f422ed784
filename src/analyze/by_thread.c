// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_thread.h"

#include "base/vec.h"

struct by_thread {
	VEC(struct histogram) polls; /* by number of the thread, until it is told */
	VEC(struct by_thread_row) rows;
};

struct by_thread *by_thread_new(void)
{
	return xcalloc(1, sizeof(struct by_thread));
}

void by_thread_free(struct by_thread *b)
{
	if (!b)
		return;
	vec_each (h, &b->polls)
		histogram_release(h);
	vec_each (row, &b->rows)
		histogram_release(&row->poll);
	vec_release(&b->polls);
	vec_release(&b->rows);
	free(b);
}

static struct histogram *poll_of(struct by_thread *b, uint32_t thread)
{
	while (unlikely(thread >= b->polls.nr))
		vec_push(&b->polls, (struct histogram){ 0 });
	return &b->polls.v[thread];
}

static void on_run(void *sink, const struct model_run *run)
{
	if (!run->flags)
		histogram_add(poll_of(sink, run->thread), run->end_ns - run->start_ns);
}

static void on_thread(void *sink, const struct model_thread *t)
{
	struct by_thread *b = sink;
	struct histogram *poll = poll_of(b, t->thread);

	vec_push(&b->rows, (struct by_thread_row){ .thread = *t, .poll = *poll });
	*poll = (struct histogram){ 0 };
}

const struct model_ops by_thread_ops = { .run = on_run, .thread = on_thread };

const struct by_thread_row *by_thread_get_rows(const struct by_thread *b, size_t *nr)
{
	*nr = b->rows.nr;
	return b->rows.v;
}
