// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/nested.h"

#include <stdlib.h>

#define NONE UINT32_MAX

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

/* Which step of the trunk it is; the last one before `end` that may be. NONE: it is not on it. */
static uint32_t find_step(const struct trunks *t, struct trunk trunk, uint32_t end, uint32_t future)
{
	uint32_t kind = future < t->rec->nr_futures ? t->kinds.of_future[future] : NONE;

	for (uint32_t i = end; i-- > 0;)
		if (t->rec->awaits.future_of[trunk.steps[i]] == kind)
			return i;
	return NONE;
}

struct trunk nested_in_future(struct nested *n, const struct model_future *f)
{
	struct trunk trunk, none = { 0 };
	struct nested_thread *t;
	struct nested_run *run;
	uint32_t at, end;

	if (!f->is_resumed || !f->task)
		return none;
	trunk = trunks_get(n->trunks, f->path, f->task->key.type);
	end = trunk.nr;
	if (!end)
		return none;
	t = thread_of(n, f->thread);
	run = run_of(t, f->run_start_ns);
	/* what is inside of it was told before */
	if (run && run->depth == f->depth + 1)
		end = run->from;
	if (!run) {
		vec_push(&t->runs, (struct nested_run){ .start_ns = f->run_start_ns });
		run = &t->runs.v[t->runs.nr - 1];
	}
	at = find_step(n->trunks, trunk, end, f->future);
	run->depth = f->depth;
	run->from = at == NONE ? end : at;
	return at == NONE ? none : (struct trunk){ trunk.steps + at + 1, end - at - 1 };
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
	if (known && !known->depth)
		trunk.nr = MIN(trunk.nr, known->from);
	/* it was cut: where its polls lie in it is not known */
	if (run->is_torn)
		trunk.nr = 0;
	while (t->runs.nr && (run->outer_start_ns == MODEL_NO_RUN ||
			      t->runs.v[t->runs.nr - 1].start_ns >= run->start_ns))
		t->runs.nr--;
	return trunk;
}
