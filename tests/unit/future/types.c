// SPDX-License-Identifier: MIT OR Apache-2.0
#include "types.h"

#include <string.h>

#include "base/vec.h"

struct vtable {
	uint64_t va;
	uint32_t type;
};

static VEC(struct layout *) types;
static VEC(struct vtable) vtables;

/* ---- making them ---- */

uint32_t type_new(const char *name, enum layout_kind kind, uint64_t size_bytes)
{
	struct layout *t = xcalloc(1, sizeof(*t));

	*t = (struct layout){ .name = xstrdup(name),
			      .kind = kind,
			      .size_bytes = size_bytes,
			      .target = LAYOUT_NONE,
			      .function = "",
			      .file = "" };
	vec_push(&types, t);
	return types.nr - 1;
}

struct layout *type_of(uint32_t type)
{
	return types.v[type];
}

/* Room for one more, where there are nr: twice as many whenever that is a power of two. */
static void *grow(const void *all, uint32_t nr, size_t bytes)
{
	return nr & (nr - 1) ? (void *)all : xrealloc((void *)all, (nr ? 2 * nr : 1) * bytes);
}

static const struct layout_member *add(const struct layout_member *m, uint32_t *nr,
				       struct layout_member more)
{
	struct layout_member *all = grow(m, *nr, sizeof(*all));

	all[(*nr)++] = more;
	return all;
}

void type_member(uint32_t type, const char *name, uint32_t member, uint64_t off)
{
	struct layout *t = types.v[type];

	t->members = add(t->members, &t->nr_members, (struct layout_member){ name, member, off });
}

uint32_t type_variant(uint32_t type, const char *name, uint64_t value)
{
	struct layout *t = types.v[type];
	struct layout_variant *all = grow(t->variants, t->nr_variants, sizeof(*all));

	all[t->nr_variants] = (struct layout_variant){ name, value, .awaitee = -1, .file = "" };
	t->variants = all;
	return t->nr_variants++;
}

void type_variant_member(uint32_t type, uint32_t variant, const char *name, uint32_t member,
			 uint64_t off)
{
	struct layout_variant *v = (struct layout_variant *)&types.v[type]->variants[variant];

	v->members = add(v->members, &v->nr_members, (struct layout_member){ name, member, off });
}

uint32_t type_async(const char *name, uint64_t size_bytes, uint64_t state_off)
{
	uint32_t type = type_new(name, LAYOUT_COROUTINE, size_bytes);
	struct layout *t = types.v[type];

	t->discr_off = state_off;
	t->discr_bytes = 1;
	t->is_future = true;
	t->function = t->name;
	t->file = "a.rs";
	type_variant(type, "Unresumed", 0);
	type_variant(type, "Returned", 1);
	type_variant(type, "Panicked", 2);
	return type;
}

uint32_t type_await(uint32_t async, uint32_t line, uint32_t awaitee, uint64_t off)
{
	uint32_t state = types.v[async]->nr_variants;
	uint32_t variant = type_variant(async, "Suspend", state);
	struct layout_variant *v = (struct layout_variant *)&types.v[async]->variants[variant];

	v->awaitee = 0;
	v->file = "a.rs";
	v->line = line;
	type_variant_member(async, variant, "__awaitee", awaitee, off);
	return state;
}

uint32_t type_sleep(void)
{
	uint32_t type = type_new("tokio::time::sleep::Sleep", LAYOUT_STRUCT, 8);

	types.v[type]->is_future = true;
	return type;
}

static uint32_t named_after(const char *before, uint32_t inner, const char *after,
			    enum layout_kind kind, uint64_t size_bytes)
{
	char *name = xasprintf("%s%s%s", before, types.v[inner]->name, after);
	uint32_t type = type_new(name, kind, size_bytes);

	free(name);
	return type;
}

uint32_t type_box(uint32_t target)
{
	uint32_t type = named_after("alloc::boxed::Box<", target, ">", LAYOUT_POINTER, 8);

	types.v[type]->target = target;
	return type;
}

uint32_t type_pin_box(uint32_t target)
{
	uint32_t box = type_box(target);
	uint32_t type = named_after("core::pin::Pin<", box, ">", LAYOUT_STRUCT, 8);

	type_member(type, "__pointer", box, 0);
	return type;
}

uint32_t type_mut(uint32_t target)
{
	uint32_t type = named_after("&mut ", target, "", LAYOUT_POINTER, 8);

	types.v[type]->target = target;
	return type;
}

uint32_t type_dyn(void)
{
	uint32_t type =
		type_new("alloc::boxed::Box<dyn core::future::future::Future>", LAYOUT_STRUCT, 16);
	uint32_t word = type_new("usize", LAYOUT_NUMBER, 8);

	type_member(type, "pointer", word, 0);
	type_member(type, "vtable", word, 8);
	return type;
}

uint32_t type_maybe_done(uint32_t future)
{
	uint32_t type = named_after("tokio::future::maybe_done::MaybeDone<", future, ">",
				    LAYOUT_ENUM, 8 + types.v[future]->size_bytes);

	types.v[type]->discr_bytes = 8;
	types.v[type]->is_future = true;
	type_variant_member(type, type_variant(type, "Future", 0), "__0", future, 8);
	type_variant(type, "Done", 1);
	type_variant(type, "Gone", 2);
	return type;
}

void type_vtable(uint64_t va, uint32_t type)
{
	vec_push(&vtables, (struct vtable){ va, type });
}

void types_release(void)
{
	vec_each (t, &types) {
		for (uint32_t i = 0; i < (*t)->nr_variants; i++)
			free((void *)(*t)->variants[i].members);
		free((void *)(*t)->variants);
		free((void *)(*t)->members);
		free((void *)(*t)->name);
		free(*t);
	}
	vec_release(&types);
	vec_release(&vtables);
}

/* ---- in place of symbol/layout.c ---- */

static const struct layout nothing = { .name = "", .target = LAYOUT_NONE };

const struct layout *layouts_get(struct layouts *l, uint32_t type)
{
	return type < types.nr ? types.v[type] : &nothing;
}

uint32_t layouts_of_function(struct layouts *l, uint64_t va, const char *param)
{
	return LAYOUT_NONE;
}

uint32_t layouts_of_vtable(struct layouts *l, uint64_t va)
{
	vec_each (v, &vtables)
		if (v->va == va)
			return v->type;
	return LAYOUT_NONE;
}

uint64_t layouts_vtable(const struct layouts *l, uint32_t i)
{
	return i < vtables.nr ? vtables.v[i].va : UINT64_MAX;
}

uint32_t layouts_named(struct layouts *l, const char *name)
{
	for (uint32_t i = 0; i < types.nr; i++)
		if (strcmp(types.v[i]->name, name) == 0)
			return i;
	return LAYOUT_NONE;
}

size_t layouts_pinned(struct layouts *l, uint64_t va, const char *function, const char *param,
		      enum layout_hunt what, struct layout_pinned **out)
{
	return 0;
}

bool layouts_inlines(struct layouts *l, uint64_t va, const char *function)
{
	return true;
}

const struct layout_member *layout_member(const struct layout *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr_members; i++)
		if (strcmp(t->members[i].name, name) == 0)
			return &t->members[i];
	return NULL;
}
