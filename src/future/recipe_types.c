// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What is needed of types to explain a path, without the debug info that it comes from: who
 * explains paths is not who reads debug info.
 */
#include <string.h>

#include "future/recipe_priv.h"
#include "future/role.h"

uint32_t recipe_type_number(struct recipe_book *b, uint32_t type)
{
	struct recipes *r = b->recipes;
	uint64_t *number = map_put(&b->numbers, type, NULL);

	if (!*number) {
		vec_push(&r->types, (struct recipe_type){ .name = "", .function = "" });
		vec_push(&r->sources, (struct recipe_source){ b, type });
		*number = r->types.nr;
	}
	return *number - 1;
}

static void add_parts(struct recipe_book *b, uint32_t type, uint32_t variant,
		      struct recipe_parts *to)
{
	struct part parts[PARTS_MAX];
	unsigned nr = parts_list(&b->parts, type, variant, parts);

	*to = (struct recipe_parts){ b->recipes->parts.nr, nr };
	for (unsigned i = 0; i < nr; i++)
		vec_push(&b->recipes->parts, recipe_type_number(b, parts[i].type));
}

/* An enum that holds a future only at times is done when it does not: Map, MaybeDone. */
static enum trace_step_state state_of(const struct layout *t, const struct layout_variant *v,
				      bool has_parts)
{
	if (t->kind != LAYOUT_COROUTINE)
		return has_parts ? TRACE_STEP_WAITS : TRACE_STEP_DONE;
	if (v->awaitee >= 0)
		return TRACE_STEP_WAITS;
	return strcmp(v->name, "Unresumed") == 0 ? TRACE_STEP_NOT_STARTED : TRACE_STEP_DONE;
}

static struct recipe_variant describe_variant(struct recipe_book *b, uint32_t type,
					      const struct layout *t, uint32_t i)
{
	const struct layout_variant *v = &t->variants[i];
	struct recipe_variant to = { .file = "" };

	add_parts(b, type, i, &to.parts);
	to.state = state_of(t, v, to.parts.nr);
	if (t->kind == LAYOUT_COROUTINE) {
		to.file = v->file ? v->file : "";
		to.line = v->line;
		to.last_line = v->last_line;
	}
	return to;
}

static struct recipe_type describe(struct recipe_book *b, uint32_t type)
{
	struct recipes *r = b->recipes;
	const struct layout *t = layouts_get(b->parts.layouts, type);
	struct recipe_type to = {
		.name = t->name,
		.function = t->kind == LAYOUT_COROUTINE && t->function ? t->function : "",
		.first_variant = r->variants.nr,
		.role = parts_role(&b->parts, type),
		.is_coroutine = t->kind == LAYOUT_COROUTINE,
		.is_step = parts_is_step(t),
		.is_borrow = type_borrows(t),
		.holds = parts_hold(&b->parts, type),
	};

	add_parts(b, type, PARTS_NO_VARIANT, &to.parts);
	if (to.role == PARTS_COROUTINE || to.role == PARTS_ENUM)
		to.nr_variants = t->nr_variants;
	for (uint32_t i = 0; i < to.nr_variants; i++) {
		struct recipe_variant v = describe_variant(b, type, t, i);

		vec_push(&r->variants, v);
	}
	return to;
}

void recipes_describe(struct recipes *r)
{
	for (; r->nr_described < r->sources.nr; r->nr_described++) {
		struct recipe_source from = r->sources.v[r->nr_described];
		struct recipe_type t = describe(from.book, from.type);

		r->types.v[r->nr_described] = t;
	}
	for (size_t i = 0; i < r->sources.nr; i++) {
		const uint64_t *spot = map_get(&r->sources.v[i].book->spots, r->sources.v[i].type);

		r->types.v[i].has_node = spot && (uint32_t)*spot;
	}
}
