// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_task.h"

#include "base/map.h"
#include "base/top.h"

struct by_task {
	uint64_t (*key)(void *arg, const struct by_task_row *row);
	void *arg;
	uint64_t nr_seen;
	struct top first;	  /* until all were seen */
	struct by_task_row *rows; /* then; in order */
	size_t nr_rows;
	struct map wanted; /* task's nr -> its row, for the second pass */
};

struct by_task *by_task_new(uint64_t limit, uint64_t (*key)(void *arg, const struct by_task_row *),
			    void *arg)
{
	struct by_task *b = xcalloc(1, sizeof(*b));

	top_init(&b->first, sizeof(struct by_task_row), limit);
	b->key = key;
	b->arg = arg;
	return b;
}

static void detail_free(struct by_task_detail *d)
{
	if (!d)
		return;
	histogram_release(&d->poll);
	histogram_release(&d->sched);
	histogram_release(&d->idle);
	free(d);
}

void by_task_free(struct by_task *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->nr_rows; i++)
		detail_free(b->rows[i].detail);
	free(b->rows);
	top_release(&b->first);
	map_release(&b->wanted);
	free(b);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_task *b = sink;
	struct by_task_row row = { .task = *t }, *kept;

	b->nr_seen++;
	kept = top_add(&b->first, b->key(b->arg, &row), t->nr);
	if (kept)
		*kept = row;
}

const struct model_ops by_task_ops = { .task = on_task };

struct by_task_row *by_task_get_rows(struct by_task *b, size_t *nr)
{
	if (!b->rows)
		b->rows = top_take(&b->first, &b->nr_rows);
	*nr = b->nr_rows;
	return b->rows;
}

uint64_t by_task_get_nr_seen(const struct by_task *b)
{
	return b->nr_seen;
}

void by_task_want_detail(struct by_task *b, size_t max)
{
	for (size_t i = 0; i < MIN(max, b->nr_rows); i++) {
		b->rows[i].detail = xcalloc(1, sizeof(*b->rows[i].detail));
		*map_put(&b->wanted, b->rows[i].task.nr, NULL) = i;
	}
}

static void on_run_again(void *sink, const struct model_run *run)
{
	struct by_task *b = sink;
	const uint64_t *at = run->flags ? NULL : map_get(&b->wanted, run->task->nr);
	struct by_task_detail *d;

	if (!at)
		return;
	d = b->rows[*at].detail;
	histogram_add(&d->poll, run->end_ns - run->start_ns);
	if (run->is_gap_known)
		histogram_add(&d->sched, run->sched_ns);
	if (run->is_gap_known && run->idle_ns)
		histogram_add(&d->idle, run->idle_ns);
}

const struct model_ops by_task_detail_ops = { .run = on_run_again };
