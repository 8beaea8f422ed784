// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/chosen.h"

#define MAX_TRACKS  1000 /* of one id, which may be given again and again */
#define DENSE_POLLS 10000

static bool is_worse(const struct chosen_task *a, const struct chosen_task *b)
{
	return a->score != b->score ? a->score > b->score : a->nr < b->nr;
}

/* They are in order, the worst first. */
static void insert(struct chosen *c, const struct chosen_task *new)
{
	size_t i;

	if (c->v.nr < c->nr_wanted)
		vec_push(&c->v, *new);
	for (i = c->v.nr - 1; i > 0 && is_worse(new, &c->v.v[i - 1]); i--)
		c->v.v[i] = c->v.v[i - 1];
	c->v.v[i] = *new;
}

static void on_task(void *sink, const struct model_task *task)
{
	struct chosen *c = sink;
	struct chosen_task new = { .nr = task->nr,
				   .key = task->key,
				   .score = MAX(task->max_poll_ns, task->max_sched_ns) };

	if (task->polls > DENSE_POLLS)
		vec_push(&c->dense, task->nr);
	if (c->nr_wanted == 0)
		return;
	if (c->v.nr < c->nr_wanted || is_worse(&new, &c->v.v[c->v.nr - 1]))
		insert(c, &new);
}

const struct model_ops chosen_ops = { .task = on_task };

static bool is_same(const struct model_key *a, const struct model_key *b)
{
	return a->id == b->id && a->runtime == b->runtime;
}

static bool has_key(const struct chosen_task *v, size_t nr, const struct model_key *key)
{
	for (size_t i = 0; i < nr; i++)
		if (is_same(&v[i].key, key))
			return true;
	return false;
}

void chosen_settle(struct chosen *c, const struct finding *findings, size_t nr)
{
	VEC(struct chosen_task) first = { 0 };
	size_t nr_named;

	for (size_t i = 0; i < nr && first.nr < c->nr_wanted; i++)
		if (findings[i].has_task && !has_key(first.v, first.nr, &findings[i].task))
			vec_push(&first,
				 (struct chosen_task){ .nr = UINT64_MAX, .key = findings[i].task });
	nr_named = first.nr;
	for (size_t i = 0; i < c->v.nr && first.nr < c->nr_wanted; i++)
		if (!has_key(first.v, nr_named, &c->v.v[i].key))
			vec_push(&first, c->v.v[i]);
	vec_release(&c->v);
	for (size_t i = 0; i < first.nr; i++)
		vec_push(&c->v, first.v[i]);
	vec_release(&first);
}

void chosen_set_id(struct chosen *c, uint64_t id)
{
	c->v.nr = 0;
	c->nr_wanted = MAX_TRACKS;
	vec_push(&c->v, (struct chosen_task){ .nr = UINT64_MAX,
					      .key = { .id = id, .runtime = MODEL_NO_RUNTIME } });
}

void chosen_release(struct chosen *c)
{
	vec_release(&c->v);
	vec_release(&c->dense);
}

unsigned chosen_rank(const struct chosen *c, const struct model_task *task)
{
	for (size_t i = 0; i < c->v.nr; i++) {
		const struct chosen_task *t = &c->v.v[i];
		bool is_any = t->key.runtime == MODEL_NO_RUNTIME && t->key.id == task->key.id;

		if (t->nr == task->nr ||
		    (t->nr == UINT64_MAX && (is_any || is_same(&t->key, &task->key))))
			return i + 1;
	}
	return 0;
}

bool chosen_is_dense(const struct chosen *c, const struct model_task *task)
{
	for (size_t i = 0; i < c->dense.nr; i++)
		if (c->dense.v[i] == task->nr)
			return true;
	return false;
}
