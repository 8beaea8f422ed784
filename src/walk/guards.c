// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads which locks a coroutine holds, by the rules of runtime/leaf_rules.h, and whether they may
 * be gone.
 *
 * A variable that is moved away in some cases only has a flag, a nameless bool, that says whether
 * it is still there; when it is dropped in one of many ways, that is nearly always so. Which flag
 * is whose nobody tells, so one that is cleared may be a guard's. But an argument of an async fn is
 * there from its beginning and dropped at its end, wherever that is. If the coroutine keeps it at
 * one await and not at another, it was moved away before the latter: its drop is the same code for
 * both, so it has a flag, and that is cleared. As many flags as there are such arguments are
 * theirs.
 */
#include <string.h>

#include "walk/descend.h"

#define MAX_NESTED 16 /* parts of parts that are looked into for a guard */

/* What `guard` says of the coroutine that has it is so of all guards in the value. */
static void add_guards(struct descent *d, struct value v, struct tree_guard guard, unsigned depth)
{
	const struct guard_rule *rule = types_get(v.types, v.type)->guard;
	const struct layout_member *m;
	uint32_t nr = 0;

	if (!depth || !types_has_guard(v.types, v.type))
		return;
	if (rule) {
		if (!path_follow(d->snapshot, &v, rule->lock))
			return;
		guard.lock_addr = v.addr;
		vec_push(&d->tree->guards, guard);
		return;
	}
	if (type_is_box(types_get(v.types, v.type)->layout)) {
		if (path_follow(d->snapshot, &v, "*"))
			add_guards(d, v, guard, depth - 1);
		return;
	}
	m = path_members(d->snapshot, &v, &nr);
	for (uint32_t i = 0; i < nr; i++)
		add_guards(d, (struct value){ v.types, m[i].type, v.addr + m[i].off }, guard,
			   depth - 1);
}

static bool is_flag(struct value v, const struct layout_member *m)
{
	return str_has_prefix(m->name, "__") &&
	       strcmp(types_get(v.types, m->type)->layout->name, "bool") == 0;
}

static bool is_cleared(const struct descent *d, struct value v, const struct layout_member *m)
{
	uint64_t flag;

	return is_flag(v, m) && snapshot_number(d->snapshot, v.addr + m->off, 1, &flag) && !flag;
}

static bool keeps_flag(struct value v, const struct layout_variant *variant, uint64_t off)
{
	for (uint32_t i = 0; i < variant->nr_saved; i++)
		if (variant->members[i].off == off && is_flag(v, &variant->members[i]))
			return true;
	return false;
}

/* What is kept at several awaits lies at the same place, and nothing else does. */
static bool keeps_cleared(const struct descent *d, struct value v,
			  const struct layout_variant *variant, const struct layout_variant *now)
{
	for (uint32_t i = 0; i < now->nr_saved; i++)
		if (is_cleared(d, v, &now->members[i]) &&
		    !keeps_flag(v, variant, now->members[i].off))
			return false;
	return true;
}

static bool keeps_argument(const struct layout_variant *variant, const struct layout_member *m)
{
	for (uint32_t i = 0; i < variant->nr_saved; i++)
		if (variant->members[i].type == m->type &&
		    strcmp(variant->members[i].name, m->name) == 0)
			return true;
	return false;
}

/* Does something happen when a value of that type is dropped? False also when it is not known. */
static bool has_drop(struct types *types, uint32_t type, unsigned depth)
{
	static const char *const owners[] = { "alloc::sync::Arc<", "alloc::rc::Rc<",
					      "alloc::vec::Vec<", "alloc::boxed::Box<" };
	const struct layout *l = types_get(types, type)->layout;

	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (str_has_prefix(l->name, owners[i]))
			return true;
	if (!depth || l->kind != LAYOUT_STRUCT ||
	    str_has_prefix(l->name, "core::mem::manually_drop::ManuallyDrop<"))
		return false;
	for (uint32_t i = 0; i < l->nr_members; i++)
		if (has_drop(types, l->members[i].type, depth - 1))
			return true;
	return false;
}

/* Was it moved away before the await where the coroutine stands, and not before every other? */
static bool is_gone(const struct descent *d, struct value v, const struct layout_variant *now,
		    const struct layout_member *argument)
{
	const struct layout *l = types_get(v.types, v.type)->layout;

	if (keeps_argument(now, argument) || !has_drop(v.types, argument->type, MAX_NESTED))
		return false;
	for (uint32_t i = 0; i < l->nr_variants; i++)
		if (keeps_argument(&l->variants[i], argument) &&
		    keeps_cleared(d, v, &l->variants[i], now))
			return true;
	return false;
}

/* Is a flag cleared that may be a guard's? */
static bool has_moved(const struct descent *d, struct value v, const struct layout_variant *now)
{
	uint32_t nr_cleared = 0, nr_gone = 0;

	for (uint32_t i = 0; i < now->nr_saved; i++)
		nr_cleared += is_cleared(d, v, &now->members[i]);
	for (uint32_t i = now->nr_saved; nr_cleared && i < now->nr_members; i++)
		nr_gone += is_gone(d, v, now, &now->members[i]);
	return nr_cleared > nr_gone;
}

void read_guards(struct descent *d, struct value v, uint32_t node)
{
	const struct tree_node *n = &d->tree->nodes.v[node];
	const struct layout_variant *variant = n->variant;
	/* one that was not polled yet has all that it was given */
	uint32_t nr = n->state == TREE_NOT_STARTED ? variant->nr_members : variant->nr_saved;
	struct tree_guard guard = { .node = node, .may_be_gone = has_moved(d, v, variant) };

	for (uint32_t i = 0; i < nr; i++) {
		const struct layout_member *m = &variant->members[i];

		add_guards(d, (struct value){ v.types, m->type, v.addr + m->off }, guard,
			   MAX_NESTED);
	}
}
