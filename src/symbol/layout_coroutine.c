// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Coroutines: where a body and its await points are written, which of the members of an await point
 * are alive, and what and where the code is.
 *
 * Macros. What a macro wrote has the file and line of the macro: an await inside of select!, or a
 * whole body, as of #[tokio::main] and stream!. Only what is in the body's own lines is believed.
 */
#include <dwarf.h>
#include <string.h>

#include "base/crate_path.h"
#include "symbol/demangle.h"
#include "symbol/layout_types.h"

#define MAX_BODIES 256 /* copies of one coroutine's code */
#define CODE_BYTES 64  /* of a function's DIE */

static size_t find_variant(const struct layout_awaits *a, const char *name)
{
	for (size_t i = 0; i < a->nr; i++)
		if (strcmp(a->variants[i].name, name) == 0)
			return i;
	return a->nr;
}

static bool is_await(const struct layout_variant *v)
{
	return str_has_prefix(v->name, "Suspend");
}

/*
 * LLVM takes members of one name in one structure for the same: a captured variable is told with
 * the type and place of the variable that is called as it is and stands before it.
 */
static bool is_hidden(const struct layout_member *members, const struct layout_member *m)
{
	for (; members < m; members++)
		if (strcmp(members->name, m->name) == 0)
			return members->type == m->type && members->off == m->off;
	return false;
}

/* The captured variables stand behind what is saved, in the order of Unresumed. */
static uint32_t count_saved(const struct layout_variant *v, const struct layout_variant *captures)
{
	uint32_t nr = captures->nr_members;

	if (v == captures || v->nr_members < nr)
		return v->nr_members;
	for (uint32_t i = 0; i < nr; i++) {
		const struct layout_member *m = &v->members[v->nr_members - nr + i];

		if (strcmp(m->name, captures->members[i].name) != 0 ||
		    (m->type != captures->members[i].type && !is_hidden(v->members, m)))
			return v->nr_members;
	}
	return v->nr_members - nr;
}

/*
 * Is it a file of another crate than that of the type? Cargo keeps a crate NAME of the registry in
 * a folder NAME-VERSION; of other files nothing is known.
 */
static bool is_foreign(const char *file, const char *type)
{
	for (const char *from = file, *slash; (slash = strchr(from, '/')); from = slash + 1) {
		const char *dash = crate_find_version(from);
		size_t i = 0;

		if (!dash)
			continue;
		while (from + i < dash && type[i] == (from[i] == '-' ? '_' : from[i]))
			i++;
		return from + i < dash || type[i] != ':';
	}
	return false;
}

/*
 * The lines of a body that a macro wrote, which has the line of that macro alone, are those of its
 * await points: in the same file below it, as a macro must be written before it is used; or in the
 * first file of its own crate.
 */
static void find_body(struct layout *t, const struct layout_awaits *a)
{
	bool is_elsewhere = is_foreign(t->file, t->name);

	for (size_t i = 0; i < a->nr; i++) {
		const struct layout_place *at = &a->places[i];

		if (is_elsewhere && is_await(&a->variants[i]) && !is_foreign(at->file, t->name)) {
			t->file = at->file;
			t->first_line = t->last_line = at->line;
			is_elsewhere = false;
		}
		if (strcmp(at->file, t->file) != 0)
			continue;
		t->last_line = MAX(t->last_line, at->line);
	}
}

static bool is_in_body(const struct layout *t, const struct layout_place *at)
{
	return at->line >= t->first_line && at->line <= t->last_line &&
	       strcmp(at->file, t->file) == 0;
}

/* Await points are in the order of the source, so this one is between the nearest two that are in
 * the body itself. */
static void narrow(const struct layout *t, const struct layout_awaits *a, size_t i)
{
	uint32_t from = t->first_line, to = t->last_line;

	for (size_t k = i; k-- > 0;)
		if (is_await(&a->variants[k]) && is_in_body(t, &a->places[k])) {
			from = a->places[k].line;
			break;
		}
	for (size_t k = i + 1; k < a->nr; k++)
		if (is_await(&a->variants[k]) && is_in_body(t, &a->places[k])) {
			to = a->places[k].line;
			break;
		}
	a->variants[i].file = t->file;
	a->variants[i].line = from <= to ? from : t->first_line;
	a->variants[i].last_line = from <= to ? to : t->last_line;
}

static void read_lines(struct layout *t, const struct layout_awaits *a)
{
	size_t first = find_variant(a, "Unresumed"), last = find_variant(a, "Returned");

	if (first == a->nr)
		return;
	t->file = a->places[first].file;
	t->first_line = a->places[first].line;
	t->last_line = last < a->nr ? a->places[last].line : 0;
	if (t->last_line <= t->first_line) {
		t->last_line = t->first_line;
		find_body(t, a);
	}
	for (size_t i = 0; i < a->nr; i++)
		if (is_await(&a->variants[i]) && *t->file && !is_in_body(t, &a->places[i]))
			narrow(t, a, i);
}

/* What is told of a function by its DIE and by the one that has its name. */
struct code {
	const char *linkage_name;
	uint64_t va;
};

/*
 * Is the function at off the code of this coroutine? Another release of its crate has one of the
 * same name, but hardly at the same line of the same file.
 */
static bool read_code(struct layouts *l, uint64_t off, const struct layout_place *body,
		      struct code *code)
{
	*code = (struct code){ 0 };
	for (unsigned hops = 0; hops < 4; hops++) {
		struct raw_cursor c;
		struct raw_die die;

		if (!layouts_spend(l, CODE_BYTES) || !dwarf_cursor(l->d, off, &c) ||
		    raw_next(&c, UINT64_C(1) << DW_TAG_subprogram, &die) != 1 ||
		    die.tag != DW_TAG_subprogram)
			return false;
		if (die.has_low_pc && !code->va)
			code->va = die.low_pc;
		if (die.linkage_name)
			code->linkage_name = die.linkage_name;
		if (die.name)
			return die.decl_line == body->line &&
			       strcmp(layouts_file(l, c.unit, die.decl_file), body->file) == 0;
		if (!die.has_origin)
			return false;
		off = die.origin_off;
	}
	return false;
}

struct vas {
	VEC(uint64_t) list;
};

static void add_va(struct vas *to, uint64_t va)
{
	vec_each (have, &to->list)
		if (*have == va)
			return;
	if (va && to->list.nr < MAX_BODIES)
		vec_push(&to->list, va);
}

/* Its name for people, and where its code begins. */
static void read_function(struct layouts *l, struct type *type, const struct layout_place *body)
{
	struct layout *t = &type->layout;
	const char *linkage_name = NULL;
	struct vas vas = { 0 };
	char *path, *name;

	for (const struct index_entry *e =
		     layout_index_find(&l->index, INDEX_BODIES, type->name_hash);
	     e; e = layout_index_next(&l->index, INDEX_BODIES, e)) {
		struct code code;

		if (!read_code(l, e->value, body, &code))
			continue;
		if (code.linkage_name && !linkage_name)
			linkage_name = code.linkage_name;
		add_va(&vas, code.va);
	}
	t->bodies = vas.list.v;
	t->nr_bodies = vas.list.nr;
	path = linkage_name ? name_impl(t->name, linkage_name) : xstrdup(t->name);
	name = readable_type(path, strlen(path), false);
	free(path);
	vec_push(&l->strings, name);
	t->function = name;
}

void layout_read_coroutine(struct layouts *l, struct type *type, const struct layout_awaits *a)
{
	struct layout *t = &type->layout;
	const struct layout_place nowhere = { .file = "" };
	size_t captures = find_variant(a, "Unresumed");

	t->kind = LAYOUT_COROUTINE;
	for (size_t i = 0; i < a->nr; i++) {
		struct layout_variant *v = &a->variants[i];

		for (uint32_t m = 0; m < v->nr_members && v->awaitee < 0; m++)
			if (strcmp(v->members[m].name, "__awaitee") == 0)
				v->awaitee = m;
		v->nr_saved =
			captures < a->nr ? count_saved(v, &a->variants[captures]) : v->nr_members;
		v->file = a->places[i].file;
		v->line = a->places[i].line;
	}
	read_function(l, type, captures < a->nr ? &a->places[captures] : &nowhere);
	read_lines(t, a);
}
