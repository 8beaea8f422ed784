// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/descend.h"

#include <stdio.h>
#include <string.h>

#define MAX_LEVEL    1200 /* of values in values; an HTTP service has trees of 400 */
#define MAX_NODES    50000
#define MAX_ELEMENTS 100000
#define MAX_FOR_KEPT 1000 /* nodes: then nobody looks for more */

/* States of a coroutine that are no await points, as rustc numbers them. */
enum { UNRESUMED, RETURNED, PANICKED };

/* Where the walk is. */
struct spot {
	uint32_t parent; /* node */
	bool is_awaited; /* the parent is a coroutine that waits for this very value */
	bool in_poll_fn; /* a closure here borrows what it polls */
	bool has_mask;	 /* of select!: a bit for each arm that is not polled any more */
	uint64_t mask;
};

static void visit(struct descent *d, struct value v, struct spot at);

static const struct type *type_of(const struct value *v)
{
	return types_get(v->types, v->type);
}

static void tear(struct descent *d)
{
	d->is_torn = true;
}

/* What is left out says nothing of whether its parent waits, and for what. */
static void cut(struct descent *d, uint32_t parent)
{
	d->tree->is_cut = true;
	if (parent != TREE_NO_NODE)
		d->tree->nodes.v[parent].is_cut = true;
}

static uint32_t add_node(struct descent *d, const struct value *v, const struct spot *at)
{
	struct tree *t = d->tree;
	struct tree_node *parent = at->parent == TREE_NO_NODE ? NULL : &t->nodes.v[at->parent];
	struct tree_node n = {
		.type = type_of(v)->layout,
		.parent = at->parent,
		.depth = parent ? parent->depth + 1 : 0,
		.addr = v->addr,
		.owner = type_of(v)->owner,
		.is_never = type_of(v)->is_never,
		.object = v->types - d->types,
		.type_id = v->type,
		.first_value = t->values.nr,
		.first_local = t->locals.nr,
	};

	if (t->nodes.nr >= MAX_NODES) {
		cut(d, at->parent);
		return TREE_NO_NODE;
	}
	if (parent)
		parent->nr_children++;
	vec_push(&t->nodes, n);
	return t->nodes.nr - 1;
}

static void visit_members(struct descent *d, const struct value *v, const struct layout_member *m,
			  uint32_t nr, struct spot at)
{
	for (uint32_t i = 0; i < nr && !d->is_torn; i++)
		if (types_get(v->types, m[i].type)->holds)
			visit(d, (struct value){ v->types, m[i].type, v->addr + m[i].off }, at);
}

/* Copies what a pointer leads to, and goes on there. */
static void visit_behind(struct descent *d, struct value v, struct spot at)
{
	if (snapshot_add(d->snapshot, v.addr, type_of(&v)->layout->size_bytes))
		visit(d, v, at);
	else
		tear(d);
}

static bool read_pointer(struct descent *d, uint64_t addr, uint64_t *target)
{
	if (snapshot_number(d->snapshot, addr, 8, target) && *target)
		return true;
	tear(d);
	return false;
}

static void visit_leaf(struct descent *d, struct value v, struct spot at)
{
	uint32_t n = add_node(d, &v, &at);

	if (n != TREE_NO_NODE)
		read_leaf(d, v, n);
}

/* ---- collections ---- */

static void visit_chain(struct descent *d, struct value head, const struct list_rule *rule,
			struct spot at)
{
	for (unsigned i = 0; i < MAX_ELEMENTS && !d->is_torn; i++) {
		struct value next = head, value;
		uint64_t addr;

		if (!path_number(d->snapshot, head, &addr) || !addr)
			return;
		if (!path_follow(d->snapshot, &next, "*"))
			return tear(d);
		if (!snapshot_add(d->snapshot, next.addr, type_of(&next)->layout->size_bytes))
			return tear(d);
		value = head = next;
		if (!path_follow(d->snapshot, &value, rule->value) ||
		    !path_follow(d->snapshot, &head, rule->next))
			return tear(d);
		visit(d, value, at);
	}
	if (!d->is_torn)
		cut(d, at.parent);
}

static void visit_row(struct descent *d, struct value first, uint64_t nr, struct spot at)
{
	uint64_t size = type_of(&first)->layout->size_bytes;

	if (!nr || !size)
		return;
	if (nr > MAX_ELEMENTS || !snapshot_add(d->snapshot, first.addr, nr * size))
		return tear(d);
	for (uint64_t i = 0; i < nr && !d->is_torn; i++, first.addr += size)
		visit(d, first, at);
}

static uint32_t param_of(const struct layout *l, const char *name)
{
	for (uint32_t i = 0; name && i < l->nr_params; i++)
		if (strcmp(l->params[i].name, name) == 0)
			return l->params[i].type;
	return LAYOUT_NONE;
}

static void visit_list(struct descent *d, struct value v, struct spot at)
{
	const struct list_rule *rule = type_of(&v)->list;
	struct value first = v, count = v;
	uint64_t nr;

	if (type_of(&v)->is_node || rule->heads[0]) {
		at = (struct spot){ .parent = add_node(d, &v, &at) };
		if (at.parent == TREE_NO_NODE)
			return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(rule->heads) && rule->heads[i]; i++) {
		struct value head = v;

		if (path_follow(d->snapshot, &head, rule->heads[i]))
			visit_chain(d, head, rule, at);
	}
	if (!rule->first)
		return;
	if (!path_follow(d->snapshot, &first, rule->first) ||
	    !path_follow(d->snapshot, &count, rule->count) ||
	    !path_number(d->snapshot, count, &nr) || !path_number(d->snapshot, first, &first.addr))
		return tear(d);
	first.type = param_of(type_of(&v)->layout, rule->param);
	if (types_get(v.types, first.type)->holds)
		visit_row(d, first, nr, at);
}

static void visit_slice(struct descent *d, struct value v, struct spot at)
{
	const struct layout *l = type_of(&v)->layout;
	const struct layout_member *data = layout_member(l, "data_ptr"),
				   *length = layout_member(l, "length");
	struct value first = { v.types, types_get(v.types, data->type)->layout->target };
	uint64_t nr;

	if (!snapshot_number(d->snapshot, v.addr + length->off, 8, &nr) ||
	    !read_pointer(d, v.addr + data->off, &first.addr))
		return tear(d);
	visit_row(d, first, nr, at);
}

/* ---- what a future is made of ---- */

/* The value that a fat pointer leads to; LAYOUT_NONE: nobody knows what it is. */
static bool follow_fat(struct descent *d, struct value *fat, struct value *inner)
{
	const struct layout *l;
	uint64_t table;

	/* NonNull has the two of them in its only member */
	while (!layout_member(type_of(fat)->layout, "vtable"))
		if (!path_follow(d->snapshot, fat, "pointer"))
			return false;
	l = type_of(fat)->layout;
	*inner = (struct value){ .type = LAYOUT_NONE };
	if (!read_pointer(d, fat->addr + layout_member(l, "pointer")->off, &inner->addr) ||
	    !read_pointer(d, fat->addr + layout_member(l, "vtable")->off, &table))
		return false;
	for (size_t i = 0; i < d->census->objects->list.nr && inner->type == LAYOUT_NONE; i++) {
		inner->types = &d->types[i];
		inner->type = types_of_table(inner->types, table);
	}
	return true;
}

static void visit_dyn(struct descent *d, struct value v, struct spot at)
{
	struct value fat = v, inner;

	if (!follow_fat(d, &fat, &inner))
		return;
	v.addr = fat.addr;
	if (inner.type != LAYOUT_NONE)
		visit_behind(d, inner, at);
	else
		add_node(d, &v, &at); /* some future; nobody knows which */
}

static void visit_trait(struct descent *d, struct value v, struct spot at)
{
	struct value inner;

	if (follow_fat(d, &v, &inner) && inner.type != LAYOUT_NONE && type_of(&inner)->holds)
		visit_behind(d, inner, at);
}

/* What it awaits is polled; what else it keeps is not. */
static void visit_awaitee(struct descent *d, const struct value *v, uint32_t node,
			  const struct layout_variant *variant)
{
	const struct layout_member *m = &variant->members[variant->awaitee];
	struct value inner = { v->types, m->type, v->addr + m->off };
	struct spot at = { .parent = node, .is_awaited = true };
	size_t nr = d->tree->nodes.nr;

	visit(d, inner, at);
	if (d->tree->nodes.nr == nr && !d->is_torn && !d->tree->nodes.v[node].is_cut)
		add_node(d, &inner, &at); /* whatever it is */
}

/* Did somebody poll it before, and does nobody that is in the tree poll it now? */
static bool is_left_alone(const struct tree *polled, const struct tree *kept, size_t first)
{
	bool has_begun = false;

	for (size_t i = first; i < kept->nodes.nr; i++) {
		const struct tree_node *n = &kept->nodes.v[i];

		if (!tree_is_generated(n))
			continue;
		has_begun = has_begun || n->state == TREE_WAITS;
		vec_each (p, &polled->nodes)
			if (p->addr == n->addr && p->type == n->type)
				return false;
	}
	return has_begun;
}

/* Walks a variable that is kept; what is polled all the same, was never polled, or cannot be, is
 * dropped. */
static void visit_kept_value(struct descent *d, struct value v)
{
	struct tree *polled = d->tree, *kept = polled->kept;
	size_t nr_nodes, nr_values, nr_guards, nr_copies = d->snapshot->copies.nr;

	if (!kept)
		kept = polled->kept = xcalloc(1, sizeof(*kept));
	nr_nodes = kept->nodes.nr;
	nr_values = kept->values.nr;
	nr_guards = kept->guards.nr;
	d->tree = kept;
	d->is_kept = true;
	visit(d, v, (struct spot){ .parent = TREE_NO_NODE });
	if (d->is_torn || !is_left_alone(polled, kept, nr_nodes)) {
		kept->nodes.nr = nr_nodes;
		kept->values.nr = nr_values;
		kept->guards.nr = nr_guards;
		snapshot_cut(d->snapshot, nr_copies); /* it need not stay the same */
	}
	d->is_kept = d->is_torn = false;
	d->tree = polled;
}

/*
 * What it keeps besides what it awaits. A variable that was moved away under a condition may be
 * among them, and then anything may be there.
 */
static void visit_kept(struct descent *d, const struct value *v,
		       const struct layout_variant *variant)
{
	if (!d->wants_ties || d->is_kept || d->is_torn || d->tree->nodes.nr > MAX_FOR_KEPT)
		return;
	for (uint32_t i = 0; i < variant->nr_saved; i++) {
		const struct layout_member *m = &variant->members[i];

		if ((int32_t)i != variant->awaitee && types_get(v->types, m->type)->holds)
			visit_kept_value(d, (struct value){ v->types, m->type, v->addr + m->off });
	}
}

static void visit_coroutine(struct descent *d, struct value v, struct spot at)
{
	const struct layout *l = type_of(&v)->layout;
	const struct layout_variant *variant;
	struct tree_node *n;
	uint64_t state;
	uint32_t node;

	if (!snapshot_number(d->snapshot, v.addr + l->discr_off, l->discr_bytes, &state))
		return tear(d);
	variant = layout_variant(l, state);
	if (!variant || (at.is_awaited && (state == RETURNED || state == PANICKED)))
		return tear(d); /* who has finished is not awaited any more */
	node = add_node(d, &v, &at);
	if (node == TREE_NO_NODE)
		return;
	n = &d->tree->nodes.v[node];
	n->variant = variant;
	n->state = state == UNRESUMED  ? TREE_NOT_STARTED
		   : state == RETURNED ? TREE_DONE
		   : state == PANICKED ? TREE_PANICKED
				       : TREE_WAITS;
	if (d->wants_ties && (n->state == TREE_WAITS || n->state == TREE_NOT_STARTED))
		read_guards(d, v, node);
	if (n->state != TREE_WAITS)
		return;
	if (d->wants_locals)
		read_locals(d, v, node);
	if (variant->awaitee >= 0 && (uint32_t)variant->awaitee < variant->nr_members)
		visit_awaitee(d, &v, node, variant);
	visit_kept(d, &v, variant);
}

static void visit_enum(struct descent *d, struct value v, struct spot at)
{
	const struct type *t = type_of(&v);
	const struct layout *l = t->layout;
	const struct layout_variant *variant;
	uint64_t discr = 0;
	size_t nr = d->tree->nodes.nr;

	if (l->discr_bytes &&
	    !snapshot_number(d->snapshot, v.addr + l->discr_off, l->discr_bytes, &discr))
		return tear(d);
	variant = layout_variant(l, discr);
	if (!variant)
		return tear(d);
	if (t->is_node) {
		uint32_t node = add_node(d, &v, &at);

		if (node == TREE_NO_NODE)
			return;
		d->tree->nodes.v[node].variant = variant;
		at = (struct spot){ .parent = node };
		nr++;
	}
	visit_members(d, &v, variant->members, variant->nr_members, at);
	visit_members(d, &v, l->members, l->nr_members, at);
	/* Ready, Done, Gone, Complete: it has been polled to its end. */
	if (t->is_node && d->tree->nodes.nr == nr && !d->tree->nodes.v[at.parent].is_cut)
		d->tree->nodes.v[at.parent].state = TREE_DONE;
}

/* tokio::select! keeps its arms in a tuple, and a bit for each that is not polled any more. */
static void find_mask(struct descent *d, const struct value *v, struct spot *at)
{
	const struct layout_member *m = layout_member(type_of(v)->layout, "_ref__disabled");
	uint64_t addr, len;

	if (!m)
		return;
	len = types_get(v->types, types_get(v->types, m->type)->layout->target)->layout->size_bytes;
	if (read_pointer(d, v->addr + m->off, &addr) && snapshot_add(d->snapshot, addr, len))
		at->has_mask = snapshot_number(d->snapshot, addr, len, &at->mask);
}

/* What a closure borrows, by & as well as by &mut. */
static void visit_closure(struct descent *d, struct value v, struct spot at)
{
	const struct layout *l = type_of(&v)->layout;

	find_mask(d, &v, &at);
	for (uint32_t i = 0; i < l->nr_members && !d->is_torn; i++) {
		const struct type *t = types_get(v.types, l->members[i].type);
		struct value inner = { v.types, t->layout->target };
		uint64_t addr = v.addr + l->members[i].off;

		if (t->layout->kind != LAYOUT_POINTER) {
			inner = (struct value){ v.types, l->members[i].type, addr };
			if (t->holds)
				visit(d, inner, at);
		} else if (types_get(v.types, inner.type)->holds &&
			   read_pointer(d, addr, &inner.addr)) {
			visit_behind(d, inner, at);
		}
	}
}

static void visit_arms(struct descent *d, const struct value *v, struct spot at)
{
	const struct layout *l = type_of(v)->layout;
	uint64_t mask = at.mask;
	unsigned arm;

	at.has_mask = false;
	for (uint32_t i = 0; i < l->nr_members && !d->is_torn; i++) {
		struct value inner = { v->types, l->members[i].type, v->addr + l->members[i].off };
		uint32_t node;

		if (sscanf(l->members[i].name, "__%u", &arm) == 1 && arm < 64 && mask >> arm & 1) {
			node = add_node(d, &inner, &at);
			if (node != TREE_NO_NODE)
				d->tree->nodes.v[node].state = TREE_DISABLED;
		} else if (type_of(&inner)->holds) {
			visit(d, inner, at);
		}
	}
}

/* A stream that is not asked for more, as its source would have it at once. */
static void drop_idle(struct descent *d, uint32_t node)
{
	struct tree *t = d->tree;
	const struct tree_node *n = &t->nodes.v[node];

	if (n->nr_children || n->is_cut || d->is_torn)
		return;
	if (n->parent != TREE_NO_NODE)
		t->nodes.v[n->parent].nr_children--;
	t->nodes.nr--;
}

static void visit_struct(struct descent *d, struct value v, struct spot at)
{
	const struct type *t = type_of(&v);
	bool polls_closure = t->polls_closure;

	if (t->is_node) {
		uint32_t node = add_node(d, &v, &at);

		if (node == TREE_NO_NODE)
			return;
		at = (struct spot){ .parent = node };
	}
	if (t->is_closure && at.in_poll_fn)
		return visit_closure(d, v, at);
	if (t->is_tuple && at.has_mask)
		return visit_arms(d, &v, at);
	at.in_poll_fn = polls_closure;
	if (polls_closure)
		for (uint32_t i = 0; i < t->layout->nr_members && !d->is_torn; i++)
			visit(d,
			      (struct value){ v.types, t->layout->members[i].type,
					      v.addr + t->layout->members[i].off },
			      at);
	else
		visit_members(d, &v, t->layout->members, t->layout->nr_members, at);
	if (t->is_node && t->is_fed)
		drop_idle(d, at.parent);
}

static void visit_array(struct descent *d, struct value v, struct spot at)
{
	const struct layout *l = type_of(&v)->layout;

	v.type = l->target;
	if (types_get(v.types, v.type)->holds)
		visit_row(d, v, l->nr_elements, at);
}

static void visit_pointer(struct descent *d, struct value v, struct spot at)
{
	struct value inner = { v.types, type_of(&v)->layout->target };

	if (types_get(v.types, inner.type)->holds && read_pointer(d, v.addr, &inner.addr))
		visit_behind(d, inner, at);
}

/* May it be looked into: does nobody poll it, and is it not over? */
static bool is_at_rest(struct descent *d, struct value v, const char *turn)
{
	uint64_t number;

	if (!path_follow(d->snapshot, &v, turn) ||
	    !snapshot_add(d->snapshot, v.addr, type_of(&v)->layout->size_bytes) ||
	    !path_number(d->snapshot, v, &number) || number == 1) {
		tear(d);
		return false;
	}
	return !number;
}

static void visit_arc(struct descent *d, struct value v, struct spot at)
{
	const struct shared_rule *rule = type_of(&v)->shared;
	struct value inner = v;

	/* what others may poll is not left alone because this task does not */
	if (rule->turn && d->is_kept)
		return;
	if (path_follow(d->snapshot, &inner, "*") && type_of(&inner)->holds &&
	    (!rule->turn || is_at_rest(d, inner, rule->turn)))
		visit_behind(d, inner, at);
}

static void visit(struct descent *d, struct value v, struct spot at)
{
	static void (*const ways[])(struct descent *, struct value, struct spot) = {
		[TYPE_COROUTINE] = visit_coroutine,
		[TYPE_ENUM] = visit_enum,
		[TYPE_STRUCT] = visit_struct,
		[TYPE_ARRAY] = visit_array,
		[TYPE_POINTER] = visit_pointer,
		[TYPE_ARC] = visit_arc,
		[TYPE_DYN] = visit_dyn,
		[TYPE_TRAIT] = visit_trait,
		[TYPE_SLICE] = visit_slice,
		[TYPE_LIST] = visit_list,
		[TYPE_LEAF] = visit_leaf,
	};
	enum type_role role = type_of(&v)->role;

	if (d->is_torn || role == TYPE_NOTHING)
		return;
	if (d->level >= MAX_LEVEL) {
		cut(d, at.parent);
		return;
	}
	d->level++;
	ways[role](d, v, at);
	d->level--;
}

void descend(struct descent *d, uint32_t object, uint32_t type, uint64_t addr)
{
	d->is_torn = false;
	d->level = 0;
	visit(d, (struct value){ &d->types[object], type, addr },
	      (struct spot){ .parent = TREE_NO_NODE });
	/* somebody's own future, or one that no rule knows */
	vec_each (n, &d->tree->nodes) {
		if (n->nr_children || n->leaf || n->is_cut || n->state != TREE_WAITS ||
		    tree_is_generated(n))
			continue;
		if (leaf_is_passing(n->type->name))
			n->state = TREE_DONE;
		else if (!leaf_is_ready(n->type->name))
			n->leaf = LEAF_KIND_OTHER;
	}
}
