// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/nested.h"

#include <stdlib.h>

#define NONE	     UINT32_MAX
#define MAX_BRANCHES 64 /* of a path, that are looked at */

void nested_release(struct nested *n)
{
	vec_each (t, &n->threads)
		vec_release(&t->runs);
	vec_release(&n->threads);
}

static struct nested_thread *thread_of(struct nested *n, uint32_t thread)
{
	while (n->threads.nr <= thread)
		vec_push(&n->threads, (struct nested_thread){ 0 });
	return &n->threads.v[thread];
}

/* Runs lie in each other: the innermost is the last. */
static struct nested_run *run_of(struct nested_thread *t, uint64_t start_ns)
{
	for (size_t i = t->runs.nr; i-- > 0;)
		if (t->runs.v[i].start_ns == start_ns)
			return &t->runs.v[i];
	return NULL;
}

/* All steps of a run's path up to where it ends or forks, and those of them that are shown. */
struct way {
	const struct trunk_step *steps;
	uint32_t nr;
	struct trunk shown;
	uint32_t nr_own; /* 1: the first one shown is the task itself, which has a slice */
};

static struct way way_of(const struct trunks *t, uint32_t path, const struct model_task *task)
{
	struct way w = { 0 };

	if (path >= t->rec->nr_paths)
		return w;
	w.steps = t->ways + t->first_way[path];
	w.nr = t->first_way[path + 1] - t->first_way[path];
	w.shown = trunks_get(t, path, task->key.type);
	w.nr_own = t->first[path + 1] - t->first[path] - w.shown.nr;
	return w;
}

/* How many of the shown ones are among the first `nr` steps. */
static uint32_t count_shown(const struct way *w, uint32_t nr)
{
	uint32_t shown = nr ? w->steps[nr - 1].nr_shown : 0;

	return shown > w->nr_own ? shown - w->nr_own : 0;
}

static struct trunk shown_between(const struct way *w, uint32_t from, uint32_t to)
{
	uint32_t first = count_shown(w, from);

	return (struct trunk){ w->shown.steps + first, count_shown(w, to) - first };
}

/* Is it on a branch of the path, where that has forked? */
static bool is_on_branch(const struct recording *rec, uint32_t path, const struct way *w,
			 uint32_t kind)
{
	const struct trace_path *p = &rec->paths[path];
	uint32_t fork = w->steps[w->nr - 1].step;

	for (uint32_t i = 0; i < MIN(p->nr_steps, MAX_BRANCHES); i++)
		for (uint32_t step = p->steps[i]; step != TRACE_NO_STEP && step != fork;
		     step = rec->awaits.outer[step])
			if (rec->awaits.future_of[step] == kind)
				return true;
	return false;
}

/*
 * Which step of the path it is; the last one before `end` that may be. The number of steps: it is
 * beyond the fork. NONE: it is not on the path.
 */
static uint32_t find_step(const struct trunks *t, uint32_t path, const struct way *w, uint32_t end,
			  uint32_t future)
{
	uint32_t kind = future < t->rec->nr_futures ? t->kinds.of_future[future] : NONE;

	for (uint32_t i = end; i-- > 0;)
		if (t->rec->awaits.future_of[w->steps[i].step] == kind)
			return i;
	return w->nr && end == w->nr && is_on_branch(t->rec, path, w, kind) ? w->nr : NONE;
}

static struct nested_run *get_run(struct nested_thread *t, const struct model_future *f,
				  uint32_t nr_steps)
{
	struct nested_run *run = run_of(t, f->run_start_ns);

	if (run) {
		run->is_lost |= f->is_resumed && run->depth != f->depth + 1;
		return run;
	}
	vec_push(&t->runs, (struct nested_run){ .start_ns = f->run_start_ns,
						.from = nr_steps,
						.is_lost = !f->is_resumed });
	return &t->runs.v[t->runs.nr - 1];
}

struct trunk nested_in_future(struct nested *n, const struct model_future *f)
{
	struct trunk inner = { 0 };
	struct nested_run *run;
	struct way way;
	uint32_t at;

	if (!f->task)
		return inner;
	way = way_of(n->trunks, f->path, f->task);
	/* what is inside of it was told before */
	run = get_run(thread_of(n, f->thread), f, way.nr);
	at = find_step(n->trunks, f->path, &way, run->from, f->future);
	if (!f->is_resumed) {
		run->is_lost |= at < way.nr;
		return inner;
	}
	run->depth = f->depth;
	if (at == NONE) {
		run->is_lost = true;
		return inner;
	}
	if (!run->is_lost && at < run->from)
		inner = shown_between(&way, at + 1, run->from);
	run->is_lost = false;
	run->from = at;
	return inner;
}

/*
 * With it ends what lies in it. Not so if it was cut: then what it was around may go on; nor where
 * the recording ends: then inner ones are told later.
 */
static void forget(struct nested_thread *t, const struct model_run *run)
{
	bool is_alone = run->is_torn || run->is_open;
	size_t kept = 0;

	vec_each (r, &t->runs) {
		bool is_over = is_alone ? r->start_ns == run->start_ns
					: run->outer_start_ns == MODEL_NO_RUN ||
						  r->start_ns >= run->start_ns;

		if (!is_over)
			t->runs.v[kept++] = *r;
	}
	t->runs.nr = kept;
}

struct trunk nested_in_run(struct nested *n, const struct model_run *run)
{
	struct trunk trunk = trunks_get(n->trunks, run->path, run->task->key.type);
	struct nested_thread *t;
	struct nested_run *known;

	if (likely(run->thread >= n->threads.nr))
		return trunk;
	t = &n->threads.v[run->thread];
	known = run_of(t, run->start_ns);
	if (known) {
		struct way way = way_of(n->trunks, run->path, run->task);

		trunk = shown_between(&way, 0, MIN(known->from, way.nr));
	}
	/* where its polls lie in it is not known; of one that was cut it never is */
	if (run->is_torn || (known && (known->is_lost || known->depth)))
		trunk.nr = 0;
	forget(t, run);
	return trunk;
}
