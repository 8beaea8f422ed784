// SPDX-License-Identifier: MIT OR Apache-2.0
/* The tasks kept are a heap with the one to go first at its root, until all were seen. */
#include "analyze/by_task.h"

#include "base/map.h"
#include "base/vec.h"

struct by_task {
	uint64_t limit;
	uint64_t (*key)(void *arg, const struct by_task_row *row);
	void *arg;
	uint64_t nr_seen;
	VEC(struct ranked {
		uint64_t key;
		struct by_task_row row;
	})
	heap;
	VEC(struct by_task_row) rows; /* in order, once all were seen */
	struct map wanted;	      /* task's nr -> its row, for the second pass */
};

struct by_task *by_task_new(uint64_t limit, uint64_t (*key)(void *arg, const struct by_task_row *),
			    void *arg)
{
	struct by_task *b = xcalloc(1, sizeof(*b));

	b->limit = limit ? limit : UINT64_MAX;
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
	vec_each (row, &b->rows)
		detail_free(row->detail);
	vec_release(&b->rows);
	vec_release(&b->heap);
	map_release(&b->wanted);
	free(b);
}

static bool stands_before(const struct ranked *a, const struct ranked *b)
{
	if (a->key != b->key)
		return a->key > b->key;
	return a->row.task.nr < b->row.task.nr;
}

static void swap(struct by_task *b, size_t i, size_t j)
{
	struct ranked r = b->heap.v[i];

	b->heap.v[i] = b->heap.v[j];
	b->heap.v[j] = r;
}

static void sift_up(struct by_task *b, size_t i)
{
	for (; i && stands_before(&b->heap.v[(i - 1) / 2], &b->heap.v[i]); i = (i - 1) / 2)
		swap(b, i, (i - 1) / 2);
}

static void sift_down(struct by_task *b, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < b->heap.nr; i = child) {
		if (child + 1 < b->heap.nr &&
		    stands_before(&b->heap.v[child], &b->heap.v[child + 1]))
			child++;
		if (!stands_before(&b->heap.v[i], &b->heap.v[child]))
			return;
		swap(b, i, child);
	}
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_task *b = sink;
	struct ranked r = { .row = { .task = *t } };

	r.key = b->key(b->arg, &r.row);
	b->nr_seen++;
	if (b->heap.nr < b->limit) {
		vec_push(&b->heap, r);
		/* where all are kept nothing has to go */
		if (b->limit != UINT64_MAX)
			sift_up(b, b->heap.nr - 1);
	} else if (stands_before(&r, &b->heap.v[0])) {
		b->heap.v[0] = r;
		sift_down(b, 0);
	}
}

const struct model_ops by_task_ops = { .task = on_task };

static int compare(const void *pa, const void *pb)
{
	return stands_before(pa, pb) ? -1 : 1;
}

struct by_task_row *by_task_get_rows(struct by_task *b, size_t *nr)
{
	if (b->heap.nr)
		qsort(b->heap.v, b->heap.nr, sizeof(*b->heap.v), compare);
	vec_each (r, &b->heap)
		vec_push(&b->rows, r->row);
	vec_release(&b->heap);
	*nr = b->rows.nr;
	return b->rows.v;
}

uint64_t by_task_get_nr_seen(const struct by_task *b)
{
	return b->nr_seen;
}

void by_task_want_detail(struct by_task *b, size_t max)
{
	for (size_t i = 0; i < MIN(max, b->rows.nr); i++) {
		b->rows.v[i].detail = xcalloc(1, sizeof(*b->rows.v[i].detail));
		*map_put(&b->wanted, b->rows.v[i].task.nr, NULL) = i;
	}
}

static void on_run_again(void *sink, const struct model_run *run)
{
	struct by_task *b = sink;
	const uint64_t *at = run->flags ? NULL : map_get(&b->wanted, run->task->nr);
	struct by_task_detail *d;

	if (!at)
		return;
	d = b->rows.v[*at].detail;
	histogram_add(&d->poll, run->end_ns - run->start_ns);
	if (run->is_gap_known)
		histogram_add(&d->sched, run->sched_ns);
	if (run->is_gap_known && run->idle_ns)
		histogram_add(&d->idle, run->idle_ns);
}

const struct model_ops by_task_detail_ops = { .run = on_run_again };
