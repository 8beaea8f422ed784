// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Fat LTO knows that nobody compares the addresses of tables, and makes one of those whose
 * functions are equal; all names but one are gone from table and symbols. But where a task is made,
 * the address of its table is written into it, by an instruction inlined from a function of the
 * runtime's, and debug info has that function's type arguments:
 *
 *	lea rax, [rip + TABLE]		new<app::f::{async_fn_env#0}, Arc<Handle>>
 *
 * So each such instruction tells one type that the table serves.
 */
#include <string.h>

#include "runtime/names.h"

#define MAX_CANDIDATES 64

/* A VEC by name, to be passed on. */
struct points {
	struct dwarf_point *v;
	size_t nr, cap;
};

bool names_may_be_lost(const struct symtab *syms)
{
	for (size_t i = 1; syms && i < syms->nr; i++)
		if (syms->v[i].is_function && syms->v[i].va == syms->v[i - 1].va &&
		    str_has_prefix(syms->v[i].name, "_"))
			return false;
	return true;
}

/* lea r64, [rip + distance]: where it leads. */
static uint64_t lea_target(const uint8_t *p, uint64_t va)
{
	int32_t distance;

	if ((p[0] & 0xfb) != 0x48 || p[1] != 0x8d || (p[2] & 0xc7) != 0x05)
		return 0;
	memcpy(&distance, p + 3, 4);
	return va + 7 + distance;
}

/* All instructions that load the address of a table; tables: va -> index. */
static void find_loads(struct finding *f, const struct map *tables, struct points *points)
{
	for (uint32_t i = 0; i < f->img->nr_segments; i++) {
		const struct image_segment *s = &f->img->segments[i];
		const uint8_t *p = f->img->data + s->off;

		for (uint64_t at = 0; s->exec && at + 7 <= s->file_bytes; at++) {
			uint64_t target = lea_target(p + at, s->va + at);

			if (target && map_get(tables, target))
				vec_push(points, (struct dwarf_point){ .va = s->va + at });
		}
	}
}

/* The type that is made at this point: of the innermost maker's arguments the first. */
static bool made_type(const struct naming *n, const struct dwarf_point *p, struct span args[])
{
	for (size_t i = 0; i < p->nr_places; i++) {
		const struct dwarf_place *at = &p->places[i];

		if (!at->function || !at->file || !strstr(at->file, n->makers_source))
			continue;
		for (const char *const *m = n->makers; *m; m++)
			if (str_has_prefix(at->function, *m) &&
			    type_args(at->function, strlen(at->function), args, NAMES_MAX_ARGS) ==
				    n->nr_args)
				return true;
	}
	return false;
}

struct types {
	const char *names[MAX_CANDIDATES]; /* as debug info spells them */
	size_t nr;
};

static void add_type(struct finding *f, struct types *types, const struct span *type)
{
	const char *name = intern_get(f->strings, intern_put(f->strings, type->s, type->len));

	for (size_t i = 0; i < types->nr; i++)
		if (types->names[i] == name)
			return;
	if (types->nr < MAX_CANDIDATES)
		types->names[types->nr++] = name;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A table of several types: they are sorted, so that it is called the same for each scheduler. */
static void call_them_all(struct finding *f, const struct naming *n, struct found_table *t,
			  struct types *types)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < types->nr; i++) {
		struct found_table one = *t;
		struct span args[NAMES_MAX_ARGS] = { { types->names[i], strlen(types->names[i]) } };

		for (size_t k = 1; k < NAMES_MAX_ARGS; k++)
			args[k] = (struct span){ "", 0 };
		n->set(f, &one, args);
		types->names[i] = one.name;
	}
	qsort(types->names, types->nr, sizeof(*types->names), by_text);
	for (size_t i = 0; i < types->nr; i++)
		strbuf_addf(&names, "%s%s", i ? " | " : "", types->names[i]);
	t->name = finding_string(f, names.s);
	t->nr_candidates = types->nr;
	t->size_bytes = n->room(t); /* what else is told may be another's */
	t->file = "";
	t->line = 0;
	strbuf_release(&names);
}

static void tell_tables(struct finding *f, const struct naming *n, struct dwarf_function *fns,
			size_t nr, const struct points *points)
{
	names_each(t, f, n->kind)
	{
		const struct dwarf_function *own =
			names_find(fns, nr, t->plan.words[names_first_slot(n, t)]);
		struct types types = { .nr = 0 };
		struct span args[NAMES_MAX_ARGS];

		if (t->nr_candidates != 1 || !own || !own->name ||
		    type_args(own->name, strlen(own->name), args, NAMES_MAX_ARGS) != n->nr_args)
			continue;
		add_type(f, &types, &args[0]);
		for (size_t i = 0; i < points->nr; i++) {
			const struct dwarf_point *p = &points->v[i];

			if (lea_target(image_at(f->img, p->va, 7), p->va) == t->plan.va &&
			    made_type(n, p, args))
				add_type(f, &types, &args[0]);
		}
		if (types.nr > 1)
			call_them_all(f, n, t, &types);
	}
}

void names_by_makers(struct finding *f, const struct naming *n, struct dwarf_function *fns,
		     size_t nr)
{
	struct points points = { 0 };
	struct map tables = MAP_INIT;

	if (!names_may_be_lost(f->syms))
		return;
	names_each(t, f, n->kind) map_put(&tables, t->plan.va, NULL);
	find_loads(f, &tables, &points);
	dwarf_find_places(f->dwarf, points.v, points.nr);
	tell_tables(f, n, fns, nr, &points);
	vec_each (p, &points)
		free(p->places);
	vec_release(&points);
	map_release(&tables);
}
