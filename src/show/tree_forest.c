// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/tree_forest.h"

static uint64_t hash_of(const struct forest *f, size_t index, const struct walk_result *r)
{
	uint64_t hash = tree_hash(r->tree);

	hash = map_hash(hash + f->look->census.tasks.v[index].table);
	vec_each (l, &r->tree->locals)
		hash = map_hash(hash * 31 + (uint64_t)(l->number ^ l->number >> 64));
	vec_each (v, &r->tree->values)
		hash = map_hash(hash * 31 + (uintptr_t)v->field);
	return f->opts->all ? index : map_hash(hash + r->status * 8 + r->state);
}

bool forest_says_same(const struct tree *a, const struct tree_node *x, const struct tree *b,
		      const struct tree_node *y)
{
	bool is_same = x->nr_locals == y->nr_locals && x->nr_values == y->nr_values;

	for (uint32_t i = 0; is_same && i < x->nr_locals; i++)
		is_same = a->locals.v[x->first_local + i].number ==
			  b->locals.v[y->first_local + i].number;
	for (uint32_t i = 0; is_same && i < x->nr_values; i++)
		is_same = a->values.v[x->first_value + i].field ==
			  b->values.v[y->first_value + i].field;
	return is_same;
}

static bool is_same(const struct forest_group *g, const struct walk_result *r)
{
	bool is_same =
		g->status == r->status && g->state == r->state && tree_is_equal(g->tree, r->tree);

	for (uint32_t i = 0; is_same && i < r->tree->nodes.nr; i++)
		is_same = forest_says_same(g->tree, &g->tree->nodes.v[i], r->tree,
					   &r->tree->nodes.v[i]);
	return is_same;
}

static void fold_value(struct tree_value *v, const struct tree_value *other)
{
	uint64_t highest = MAX(MAX(v->number, v->highest), MAX(other->number, other->highest));

	if (other->number < v->number)
		*v = *other;
	v->highest = highest;
}

void forest_fold_values(struct tree *t, uint32_t at, const struct tree *other, uint32_t from,
			uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct tree_node *x = &t->nodes.v[at + i], *y = &other->nodes.v[from + i];

		for (uint32_t k = 0; k < x->nr_values; k++)
			fold_value(&t->values.v[x->first_value + k],
				   &other->values.v[y->first_value + k]);
	}
}

void forest_gather(void *arg, size_t index, const struct walk_result *r)
{
	struct forest *f = arg;
	uint64_t hash = hash_of(f, index, r), *at;
	struct forest_group *g;
	bool was_there;

	findings_add(&f->findings, index, r);
	if (r->status == WALK_GONE ||
	    !look_fits(f->look, f->opts->filter, &f->look->census.tasks.v[index], r->tree))
		return;
	pthread_mutex_lock(&f->lock);
	at = map_put(&f->by_hash, hash, &was_there);
	if (!was_there || !is_same(&f->groups.v[*at], r)) {
		*at = f->groups.nr;
		vec_push(&f->groups, (struct forest_group){ .tree = tree_copy(r->tree),
							    .status = r->status,
							    .state = r->state,
							    .first = index });
	} else {
		forest_fold_values(f->groups.v[*at].tree, 0, r->tree, 0, r->tree->nodes.nr);
	}
	g = &f->groups.v[*at];
	g->first = MIN(g->first, index);
	if (g->nr < FOREST_MAX_IDS)
		g->tasks[g->nr] = index;
	g->nr++;
	pthread_mutex_unlock(&f->lock);
}

static int by_first(const void *a, const void *b)
{
	const struct forest_group *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

void forest_sort(struct forest *f)
{
	if (f->groups.nr)
		qsort(f->groups.v, f->groups.nr, sizeof(*f->groups.v), by_first);
}

void forest_release(struct forest *f)
{
	vec_each (g, &f->groups) {
		tree_release(g->tree);
		free(g->tree);
	}
	vec_release(&f->groups);
	map_release(&f->by_hash);
	findings_release(&f->findings);
}
