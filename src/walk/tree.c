// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/tree.h"

#include <string.h>

#include "base/map.h"

void tree_release(struct tree *t)
{
	vec_release(&t->nodes);
	vec_release(&t->values);
	vec_release(&t->locals);
	vec_release(&t->guards);
	if (t->kept)
		tree_release(t->kept);
	free(t->kept);
}

void tree_reset(struct tree *t)
{
	t->nodes.nr = t->values.nr = t->locals.nr = t->guards.nr = 0;
	if (t->kept)
		tree_release(t->kept);
	free(t->kept);
	t->kept = NULL;
	t->is_cut = false;
}

#define copy_vec(to, from)                                                           \
	do {                                                                         \
		vec_grow(to, (from)->nr);                                            \
		if ((from)->nr)                                                      \
			memcpy((to)->v, (from)->v, (from)->nr * sizeof(*(from)->v)); \
		(to)->nr = (from)->nr;                                               \
	} while (0)

struct tree *tree_copy(const struct tree *t)
{
	struct tree *copy = xcalloc(1, sizeof(*copy));

	copy_vec(&copy->nodes, &t->nodes);
	copy_vec(&copy->values, &t->values);
	copy_vec(&copy->locals, &t->locals);
	copy_vec(&copy->guards, &t->guards);
	copy->kept = t->kept ? tree_copy(t->kept) : NULL;
	copy->is_cut = t->is_cut;
	return copy;
}

uint32_t tree_main_place(const struct tree *t)
{
	uint32_t best = TREE_NO_NODE;
	enum source_owner owner = SOURCE_OF_RUNTIME;
	bool have_parted = false;

	for (uint32_t i = 0; i < t->nodes.nr && !(have_parted && best != TREE_NO_NODE); i++) {
		const struct tree_node *n = &t->nodes.v[i];

		have_parted = have_parted || n->nr_children > 1;
		if (!tree_has_place(n) || n->state != TREE_WAITS)
			continue;
		if (best == TREE_NO_NODE || n->owner >= owner) {
			best = i;
			owner = n->owner;
		}
	}
	return best;
}

uint32_t tree_leaf(const struct tree *t, uint32_t nth)
{
	for (uint32_t i = 0; i < t->nodes.nr; i++)
		if (t->nodes.v[i].leaf && nth-- == 0)
			return i;
	return TREE_NO_NODE;
}

bool tree_waits_for_ever(const struct tree *t)
{
	bool has_any = false;

	if (t->is_cut)
		return false;
	vec_each (n, &t->nodes) {
		if (n->leaf && !n->is_never)
			return false;
		has_any = has_any || n->leaf;
	}
	return has_any;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return map_hash(hash * 31 + value);
}

uint64_t tree_hash(const struct tree *t)
{
	uint64_t hash = t->nodes.nr;

	vec_each (n, &t->nodes) {
		hash = mix(hash, (uintptr_t)n->type);
		hash = mix(hash, (uintptr_t)n->variant);
		hash = mix(hash, (uint64_t)n->depth << 8 | n->state);
	}
	return hash;
}

bool tree_node_is_equal(const struct tree_node *a, const struct tree_node *b)
{
	return a->type == b->type && a->variant == b->variant && a->state == b->state &&
	       a->leaf == b->leaf && a->is_cut == b->is_cut;
}

bool tree_is_equal(const struct tree *a, const struct tree *b)
{
	if (a->nodes.nr != b->nodes.nr || a->is_cut != b->is_cut)
		return false;
	for (size_t i = 0; i < a->nodes.nr; i++)
		if (!tree_node_is_equal(&a->nodes.v[i], &b->nodes.v[i]) ||
		    a->nodes.v[i].depth != b->nodes.v[i].depth)
			return false;
	return true;
}
