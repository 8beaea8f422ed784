// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which functions poll inner futures? The code of coroutines, which debug info names; functions
 * that symbols call `<T as Future>::poll`; and what stands where `poll` belongs in the table of a
 * `dyn Future`. Without debug info a `{closure}` is a coroutine if it stands there, as tables of
 * closures have a shim in its place, or if its code begins as a coroutine's does.
 */
#include "runtime/futures.h"

#include <string.h>

#include "base/intern.h"
#include "runtime/scan.h"
#include "symbol/demangle.h"

static const char poll_tail[] = " as core::future::future::Future>::poll";

static struct candidate *candidate_at(const struct futures_search *s, uint64_t va)
{
	const uint64_t *i = map_get(&s->by_va, va);

	return i ? &s->candidates.v[*i] : NULL;
}

static struct candidate *add(struct futures_search *s, uint64_t va, uint64_t size_bytes)
{
	*map_put(&s->by_va, va, NULL) = s->candidates.nr;
	vec_push(&s->candidates, (struct candidate){ .va = va,
						     .size_bytes = size_bytes,
						     .name = "",
						     .seen = TRACE_FUTURE_UNSURE });
	return &s->candidates.v[s->candidates.nr - 1];
}

/* Functions that do the same for several futures may be one. */
static void add_name(struct futures_search *s, struct candidate *c, char *name)
{
	if (name && !*c->name) {
		c->name = finding_string(s->f, name);
	} else if (name && !str_has_item(c->name, name, " | ")) {
		char *both = xasprintf("%s | %s", c->name, name);

		c->name = finding_string(s->f, both);
		free(both);
	}
	free(name);
}

/* ---- names ---- */

/* The type that "<T as core::future::future::Future>::poll" polls; NULL: another function's name.
 */
static char *polled_type(const char *symbol)
{
	char *name, *type = NULL;
	size_t len;

	if (!strstr(symbol, "Future$GT$4poll") && !strstr(symbol, "6Future4poll"))
		return NULL;
	name = demangle(symbol);
	len = name ? strlen(name) : 0;
	if (len > sizeof(poll_tail) && name[0] == '<' &&
	    strcmp(name + len - strlen(poll_tail), poll_tail) == 0)
		type = readable_type(name + 1, len - strlen(poll_tail) - 1, false);
	free(name);
	return type;
}

/* The future whose code a "a::f::{closure#0}" would be; NULL: the symbol is no closure's. */
static char *closure_type(const char *symbol)
{
	char *name, *type = NULL;
	size_t len;

	if (!strstr(symbol, "closure$u7d$$u7d$17h") && !str_has_prefix(symbol, "_RNC"))
		return NULL;
	name = demangle(symbol);
	len = name ? strlen(name) : 0;
	if (len && name[len - 1] == '}')
		type = readable_type(name, len, false);
	free(name);
	return type;
}

/* ---- by debug info ---- */

static char *coroutine_name(const struct dwarf_poll *p)
{
	char *path = strstr(p->env_path, "{impl#") && p->linkage_name
			     ? name_impl(p->env_path, p->linkage_name)
			     : xstrdup(p->env_path);
	char *name = readable_type(path, strlen(path), false);

	free(path);
	return name;
}

/* Where debug info has lines only, the symbol has the name. */
static char *symbol_name(struct futures_search *s, uint64_t va)
{
	const struct symbol *sym = symtab_at(finding_symbols(s->f), va, NULL);

	return sym ? closure_type(sym->name) : NULL;
}

/*
 * Symbols of what is written by hand have no type arguments, "app::Retry<F>"; debug info has, of a
 * function that is no other's, too. A box is called as what it holds, which has a name of its own.
 */
static void name_by_type(struct futures_search *s, struct candidate *c, uint64_t off)
{
	const char *args = strchr(c->name, '<');
	char *type = NULL, *name = NULL;
	size_t nr;

	symtab_at(finding_symbols(s->f), c->va, &nr);
	if (nr == 1 && args)
		type = dwarf_read_polled(s->dwarf, off);
	if (type)
		name = readable_type(type, strlen(type), false);
	if (name && strncmp(name, c->name, args + 1 - c->name) == 0)
		c->name = finding_string(s->f, name);
	free(name);
	free(type);
}

static void add_by_dwarf(struct futures_search *s, const struct dwarf_poll *p)
{
	struct candidate *c = candidate_at(s, p->va);

	/* what is written by hand is known by its symbol */
	if (!c && !p->is_coroutine)
		return;
	if (!c)
		c = add(s, p->va, p->size_bytes);
	if (p->is_coroutine) {
		c->is_generated = s->has_coroutines = true;
		add_name(s, c, p->env_path ? coroutine_name(p) : symbol_name(s, p->va));
	} else {
		name_by_type(s, c, p->off);
	}
	c->seen = p->is_inlined	    ? TRACE_FUTURE_SOME
		  : p->linkage_name ? TRACE_FUTURE_ALL
				    : TRACE_FUTURE_UNSURE;
	if (!c->file && p->file) {
		c->file = finding_string(s->f, p->file);
		c->line = p->line;
	}
	if (!c->size_bytes)
		c->size_bytes = p->size_bytes;
	c->type_off = p->type_off;
}

/* Those coroutines that are wanted, of which no function is left. */
static void count_inlined(struct futures_search *s, const struct futures_wanted *wanted,
			  const struct dwarf_poll *polls, size_t nr)
{
	struct intern *names = intern_new();
	uint32_t nr_known;

	vec_each (c, &s->candidates)
		intern_puts(names, c->name);
	nr_known = intern_count(names);
	for (size_t i = 0; i < nr; i++) {
		char *name = !polls[i].va && polls[i].is_coroutine && polls[i].env_path
				     ? coroutine_name(&polls[i])
				     : NULL;
		struct candidate c = { .name = name, .file = polls[i].file, .is_generated = true };

		if (name && futures_is_wanted(wanted, &c))
			intern_puts(names, name);
		free(name);
	}
	s->f->futures.has_inlined = s->has_coroutines;
	s->f->futures.nr_inlined = intern_count(names) - nr_known;
	intern_free(names);
}

static void look_at_dwarf(struct futures_search *s, const struct futures_wanted *wanted)
{
	struct dwarf_poll *polls;
	size_t nr = s->dwarf ? dwarf_find_polls(s->dwarf, &polls) : 0;

	for (size_t i = 0; i < nr; i++)
		if (image_is_code(s->f->img, polls[i].va))
			add_by_dwarf(s, &polls[i]);
	if (!s->dwarf)
		return;
	count_inlined(s, wanted, polls, nr);
	free(polls);
}

static int compare_points(const void *a, const void *b)
{
	const struct dwarf_point *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

/* Of those whose declaration has no place: the line that their code begins with, of their own and
 * not of what was inlined there. */
static void look_at_lines(struct futures_search *s)
{
	VEC(struct dwarf_point) points = { 0 };

	vec_each (c, &s->candidates)
		if (!c->file)
			vec_push(&points, (struct dwarf_point){ .va = c->va });
	if (!s->dwarf || !points.nr)
		goto out;
	qsort(points.v, points.nr, sizeof(*points.v), compare_points);
	dwarf_find_places(s->dwarf, points.v, points.nr);
	vec_each (point, &points) {
		const struct dwarf_place *last =
			point->nr_places ? &point->places[point->nr_places - 1] : NULL;
		struct candidate *c = candidate_at(s, point->va);

		if (last && last->file) {
			c->file = finding_string(s->f, last->file);
			c->line = last->line;
		}
		free(point->places);
	}
out:
	vec_release(&points);
}

/* ---- by symbols ---- */

/* Does it panic, in state 1, as only a coroutine does that has returned? */
static bool is_coroutine(struct futures_search *s, const struct symbol *sym)
{
	const struct image *img = s->f->img;
	const struct symbol *panic;
	struct code_state state;
	uint64_t to;

	if (!code_find_state(img, sym->va, sym->size_bytes, &state))
		return false;
	to = code_called_in_state(img, sym->va, sym->size_bytes, &state, 1);
	panic = to ? symtab_at(finding_symbols(s->f), to, NULL) : NULL;
	return panic && strstr(panic->name, "panic_const_async_fn_resumed");
}

/* After debug info, which knows them better. */
static void look_at_closures(struct futures_search *s)
{
	const struct symtab *syms = finding_symbols(s->f);

	for (size_t i = 0; i < syms->nr; i++) {
		const struct symbol *sym = &syms->v[i];
		char *type = sym->is_function && !candidate_at(s, sym->va) ? closure_type(sym->name)
									   : NULL;

		if (type && is_coroutine(s, sym)) {
			struct candidate *c = add(s, sym->va, sym->size_bytes);

			c->is_generated = true;
			add_name(s, c, type);
		} else {
			free(type);
		}
	}
}

static void look_at_symbols(struct futures_search *s)
{
	const struct symtab *syms = finding_symbols(s->f);

	for (size_t i = 0; i < syms->nr; i++) {
		const struct symbol *sym = &syms->v[i];
		char *type = sym->is_function && image_is_code(s->f->img, sym->va)
				     ? polled_type(sym->name)
				     : NULL;
		struct candidate *c = type ? candidate_at(s, sym->va) : NULL;

		if (!type)
			continue;
		if (!c)
			c = add(s, sym->va, sym->size_bytes);
		add_name(s, c, type);
	}
}

/* All functions that have the address must poll futures: whose call it is cannot be told. */
static void look_for_merged(struct futures_search *s)
{
	vec_each (c, &s->candidates) {
		size_t nr;
		const struct symbol *sym = symtab_at(finding_symbols(s->f), c->va, &nr);

		for (size_t i = 0; i < nr; i++) {
			char *type = polled_type(sym[i].name);

			if (!type && c->is_generated)
				type = closure_type(sym[i].name);
			c->is_merged |= sym[i].is_function && !type;
			c->size_bytes = sym[i].size_bytes ? sym[i].size_bytes : c->size_bytes;
			free(type);
		}
	}
}

/* ---- by tables ---- */

static bool is_plain(const struct finding *f, const struct scan_place *at, unsigned back)
{
	return !f->img->is_dyn || !image_is_relocated(at->segment, at->va - 8 * back);
}

/* The words before that of poll: a function or nothing, a size, an alignment. */
static bool read_table(const struct finding *f, const struct scan_place *at, struct future_table *t)
{
	const uint8_t *p = image_at(f->img, at->va - 24, 32);
	uint64_t size, align;

	if (!p || at->va - 24 < at->segment->va)
		return false;
	for (unsigned i = 0; i < 4; i++)
		t->words[i] = scan_load(p + 8 * i);
	t->va = at->va - 24;
	size = t->words[1];
	align = t->words[2];
	t->has_drop = t->words[0] != 0;
	if (t->has_drop ? is_plain(f, at, 3) && f->img->is_dyn : !is_plain(f, at, 3))
		return false;
	if (t->has_drop && !image_is_code(f->img, t->words[0]))
		return false;
	return is_plain(f, at, 2) && is_plain(f, at, 1) && size < UINT32_MAX && align &&
	       align <= WIRE_PAGE && !(align & (align - 1)) && size % align == 0;
}

static struct candidate *add_by_table(struct futures_search *s, uint64_t va)
{
	size_t nr;
	const struct symbol *sym = symtab_at(finding_symbols(s->f), va, &nr);
	char *type = nr == 1 && sym->is_function ? closure_type(sym->name) : NULL;
	struct candidate *c;

	if (!type)
		return NULL;
	c = add(s, va, sym->size_bytes);
	c->is_generated = true;
	add_name(s, c, type);
	return c;
}

static bool look_at_word(struct finding *f, void *arg, const struct scan_place *at)
{
	struct futures_search *s = arg;
	uint64_t va = scan_load(at->p);
	struct candidate *c = candidate_at(s, va);
	struct future_table t;

	if (!scan_is_code(f, at, 0))
		return false;
	if (!read_table(f, at, &t)) {
		if (c)
			c->is_elsewhere = true;
		return false;
	}
	if (!c && !s->has_coroutines)
		c = add_by_table(s, va);
	if (!c)
		return false;
	t.candidate = c - s->candidates.v;
	c->nr_tables++;
	vec_push(&s->tables, t);
	return false;
}

void futures_find(struct finding *f, struct dwarf *dwarf, const struct futures_wanted *wanted)
{
	struct futures_search s = { .f = f, .dwarf = dwarf };

	look_at_symbols(&s);
	look_at_dwarf(&s, wanted);
	look_at_closures(&s);
	scan_tables(f, 1, look_at_word, &s);
	look_at_lines(&s);
	look_for_merged(&s);
	futures_plan(&s, wanted);
	if (!s.has_coroutines && !(dwarf && dwarf_has_types(dwarf)))
		f->futures.note =
			finding_symbols(f)->nr
				? "without debug info not every async fn is known as one: "
				  "build with `debug = 1`"
				: "it is stripped: build with `debug = 1`";
	vec_release(&s.candidates);
	vec_release(&s.tables);
	map_release(&s.by_va);
}
