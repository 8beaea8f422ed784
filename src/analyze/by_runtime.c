// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_runtime.h"

struct by_runtime {
	uint32_t nr;
	struct by_runtime_row rows[];
};

struct by_runtime *by_runtime_new(const struct recording *rec)
{
	struct by_runtime *b =
		xcalloc(1, sizeof(*b) + (rec->nr_runtimes + 1) * sizeof(struct by_runtime_row));

	b->nr = rec->nr_runtimes;
	return b;
}

void by_runtime_free(struct by_runtime *b)
{
	free(b);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_runtime *b = sink;
	struct by_runtime_row *row = &b->rows[MIN(t->key.runtime, b->nr)];

	row->nr_tasks++;
	row->nr_alive += t->end == MODEL_ALIVE;
	row->polls += t->polls;
	row->busy_ns += t->ns[MODEL_RUNNING];
}

static void on_thread(void *sink, const struct model_thread *t)
{
	struct by_runtime *b = sink;
	struct by_runtime_row *row = &b->rows[MIN(t->runtime, b->nr)];

	row->nr_workers += t->kind == MODEL_WORKER;
	row->nr_blocking += t->kind == MODEL_BLOCKING;
}

const struct model_ops by_runtime_ops = { .task = on_task, .thread = on_thread };

const struct by_runtime_row *by_runtime_get_rows(const struct by_runtime *b)
{
	return b->rows;
}
