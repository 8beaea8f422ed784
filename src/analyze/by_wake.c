// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_wake.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct by_wake {
	const struct recording *rec;
	uint32_t *namesakes; /* of each thread: the first one of its name */
	struct map index;    /* who, whom and how -> place in rows */
	VEC(struct by_wake_row) rows;
};

static void find_namesakes(struct by_wake *b)
{
	struct intern *names = intern_new();
	struct map first = MAP_INIT; /* name -> thread */

	b->namesakes = xcalloc(b->rec->nr_threads + 1, sizeof(*b->namesakes));
	for (uint32_t i = 0; i < b->rec->nr_threads; i++) {
		bool was_there;
		uint64_t *thread =
			map_put(&first, intern_puts(names, b->rec->threads[i].name), &was_there);

		if (!was_there)
			*thread = i;
		b->namesakes[i] = *thread;
	}
	map_release(&first);
	intern_free(names);
}

struct by_wake *by_wake_new(const struct recording *rec)
{
	struct by_wake *b = xcalloc(1, sizeof(*b));

	b->rec = rec;
	find_namesakes(b);
	return b;
}

void by_wake_free(struct by_wake *b)
{
	if (!b)
		return;
	vec_each (row, &b->rows)
		histogram_release(&row->latency);
	vec_release(&b->rows);
	map_release(&b->index);
	free(b->namesakes);
	free(b);
}

static struct by_wake_row *row_of(struct by_wake *b, bool is_spawn, enum model_cause cause,
				  uint32_t waker, uint32_t woken)
{
	/* a group needs 17 bits, a thread 20, and "no thread" stays apart from both */
	uint64_t key = (uint64_t)is_spawn << 63 | (uint64_t)cause << 60 |
		       (uint64_t)(waker & 0xffffff) << 32 | woken;
	bool was_there;
	uint64_t *at = map_put(&b->index, key, &was_there);

	if (unlikely(!was_there)) {
		*at = b->rows.nr;
		vec_push(&b->rows, (struct by_wake_row){ .is_spawn = is_spawn,
							 .cause = cause,
							 .waker = waker,
							 .woken = woken });
	}
	return &b->rows.v[*at];
}

static uint32_t namesake(const struct by_wake *b, uint32_t thread)
{
	return thread < b->rec->nr_threads ? b->namesakes[thread] : MODEL_NO_THREAD;
}

static struct by_wake_row *row_of_wake(struct by_wake *b, const struct model_waker *w,
				       const struct model_task *woken)
{
	uint32_t waker = 0;

	if (w->cause == MODEL_BY_TASK)
		waker = recording_group_of(b->rec, w->key.type);
	else if (w->cause == MODEL_BY_THREAD)
		waker = namesake(b, w->thread);
	return row_of(b, false, w->cause, waker, recording_group_of(b->rec, woken->key.type));
}

static struct by_wake_row *row_of_spawn(struct by_wake *b, const struct model_task *t)
{
	return row_of(b, true, t->has_parent ? MODEL_BY_TASK : MODEL_BY_THREAD,
		      t->has_parent ? recording_group_of(b->rec, t->parent.type)
				    : namesake(b, t->spawn_thread),
		      recording_group_of(b->rec, t->key.type));
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	row_of_wake(sink, wake->waker, wake->task)->nr++;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct by_wake_row *row;

	if (run->flags || !run->is_gap_known)
		return;
	if (run->waker)
		row = row_of_wake(sink, run->waker, run->task);
	else if (run->is_first && run->task->spawn_exact)
		row = row_of_spawn(sink, run->task);
	else
		return;
	histogram_add(&row->latency, run->sched_ns);
}

static void on_task(void *sink, const struct model_task *t)
{
	if (t->spawn_exact)
		row_of_spawn(sink, t)->nr++;
}

const struct model_ops by_wake_ops = { .wake = on_wake, .run = on_run, .task = on_task };

const struct by_wake_row *by_wake_get_rows(const struct by_wake *b, size_t *nr)
{
	*nr = b->rows.nr;
	return b->rows.v;
}
