// SPDX-License-Identifier: MIT OR Apache-2.0
#include "future/parts.h"

#include "future/leaf.h"
#include "future/role.h"

#define MAX_DEPTH 64 /* of types inside of types */

enum { UNKNOWN, ASKED, NO, YES }; /* parts.holds */

void parts_init(struct parts *p, struct layouts *l)
{
	*p = (struct parts){ .layouts = l };
}

void parts_release(struct parts *p)
{
	vec_release(&p->holds);
}

/* Members that share their place: only one of them is there, and nobody says which. */
static bool is_union(struct layouts *l, const struct layout *t)
{
	for (uint32_t i = 1; i < t->nr_members; i++)
		for (uint32_t k = 0; k < i; k++)
			if (t->members[i].off == t->members[k].off &&
			    layouts_get(l, t->members[i].type)->size_bytes &&
			    layouts_get(l, t->members[k].type)->size_bytes)
				return true;
	return str_has_prefix(t->name, "core::mem::maybe_uninit::MaybeUninit<");
}

/* Of the ways that there are, those that can be taken without a doubt and without a loop. */
enum parts_role parts_role(struct parts *p, uint32_t type)
{
	const struct layout *t = layouts_get(p->layouts, type);

	switch (type_role(t)) {
	case TYPE_COROUTINE:
		return t->discr_bytes ? PARTS_COROUTINE : PARTS_NONE;
	case TYPE_ENUM:
		return t->nr_variants ? PARTS_ENUM : PARTS_NONE;
	case TYPE_POINTER:
		return PARTS_POINTER;
	case TYPE_DYN:
		return type_owns(t) ? PARTS_DYN : PARTS_NONE;
	case TYPE_STRUCT:
		return is_union(p->layouts, t) ? PARTS_NONE : PARTS_STRUCT;
	case TYPE_ARRAY:
		return PARTS_STRUCT;
	default:
		return PARTS_NONE;
	}
}

static bool holds(struct parts *p, uint32_t type, unsigned depth);

static bool any_holds(struct parts *p, const struct layout_member *m, uint32_t nr, unsigned depth)
{
	for (uint32_t i = 0; i < nr; i++)
		if (holds(p, m[i].type, depth))
			return true;
	return false;
}

static bool look(struct parts *p, uint32_t type, unsigned depth)
{
	const struct layout *t = layouts_get(p->layouts, type);

	if (leaf_is_loop(t->name) || leaf_is_ready(t->name))
		return false;
	if (t->is_future || leaf_find(t->name))
		return true;
	if (type_is_closure(t)) /* it is called, not polled; but see add_struct */
		return false;
	switch (parts_role(p, type)) {
	case PARTS_COROUTINE:
	case PARTS_DYN:
		return true;
	case PARTS_POINTER:
		return holds(p, t->target, depth);
	case PARTS_ENUM:
		for (uint32_t i = 0; i < t->nr_variants; i++)
			if (any_holds(p, t->variants[i].members, t->variants[i].nr_members, depth))
				return true;
		return any_holds(p, t->members, t->nr_members, depth);
	case PARTS_STRUCT:
		return t->kind == LAYOUT_ARRAY ? t->nr_elements && holds(p, t->target, depth)
					       : any_holds(p, t->members, t->nr_members, depth);
	default:
		return false;
	}
}

static bool holds(struct parts *p, uint32_t type, unsigned depth)
{
	bool answer;

	if (type == LAYOUT_NONE || !depth)
		return false;
	while (p->holds.nr <= type)
		vec_push(&p->holds, UNKNOWN);
	if (p->holds.v[type] != UNKNOWN) /* asked: types that lead to each other in a circle */
		return p->holds.v[type] == YES;
	p->holds.v[type] = ASKED;
	answer = look(p, type, depth - 1);
	p->holds.v[type] = answer ? YES : NO;
	return answer;
}

bool parts_hold(struct parts *p, uint32_t type)
{
	return holds(p, type, MAX_DEPTH);
}

bool parts_fit(uint64_t bytes, uint64_t off, uint64_t part_bytes)
{
	return bytes <= UINT32_MAX && off <= bytes && part_bytes <= bytes - off;
}

struct list {
	struct parts *p;
	uint64_t bytes; /* of what has the parts */
	struct part *out;
	unsigned nr;
};

static void add_awaited(struct list *l, uint64_t off, uint32_t type)
{
	if (l->nr < PARTS_MAX &&
	    parts_fit(l->bytes, off, layouts_get(l->p->layouts, type)->size_bytes))
		l->out[l->nr++] = (struct part){ off, type };
}

static void add(struct list *l, uint64_t off, uint32_t type)
{
	if (parts_hold(l->p, type))
		add_awaited(l, off, type);
}

static void add_members(struct list *l, const struct layout_member *m, uint32_t nr, uint64_t off)
{
	for (uint32_t i = 0; i < nr; i++)
		add(l, off + m[i].off, m[i].type);
}

/* What the closure of a poll_fn has captured is what it polls: so do join! and select!. */
static void add_struct(struct list *l, const struct layout *t)
{
	if (!type_is_poll_fn(t)) {
		add_members(l, t->members, t->nr_members, 0);
		return;
	}
	for (uint32_t i = 0; i < t->nr_members; i++) {
		const struct layout *f = layouts_get(l->p->layouts, t->members[i].type);

		if (f->kind == LAYOUT_STRUCT && type_is_closure(f))
			add_members(l, f->members, f->nr_members, t->members[i].off);
	}
}

static void add_array(struct list *l, const struct layout *t)
{
	uint64_t bytes = layouts_get(l->p->layouts, t->target)->size_bytes;

	for (uint64_t i = 0; i < MIN(t->nr_elements, (uint64_t)PARTS_MAX) && bytes <= l->bytes; i++)
		add(l, i * bytes, t->target);
}

unsigned parts_list(struct parts *p, uint32_t type, uint32_t variant, struct part out[PARTS_MAX])
{
	const struct layout *t = layouts_get(p->layouts, type);
	const struct layout_variant *v = variant < t->nr_variants ? &t->variants[variant] : NULL;
	struct list l = { .p = p, .bytes = t->size_bytes, .out = out };

	switch (parts_role(p, type)) {
	case PARTS_COROUTINE:
		if (v && v->awaitee >= 0 && (uint32_t)v->awaitee < v->nr_members)
			add_awaited(&l, v->members[v->awaitee].off, v->members[v->awaitee].type);
		break;
	case PARTS_ENUM:
		if (v)
			add_members(&l, v->members, v->nr_members, 0);
		add_members(&l, t->members, t->nr_members, 0);
		break;
	case PARTS_STRUCT:
		if (t->kind == LAYOUT_ARRAY)
			add_array(&l, t);
		else
			add_struct(&l, t);
		break;
	case PARTS_POINTER:
		l.bytes = layouts_get(p->layouts, t->target)->size_bytes;
		add(&l, 0, t->target);
		break;
	default:
		break;
	}
	return l.nr;
}

bool parts_is_step(const struct layout *t)
{
	return type_is_future(t) || leaf_find(t->name);
}
