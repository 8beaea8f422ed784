// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/names.h"

#include <string.h>

/* A VEC by name, to be passed on. */
struct functions {
	struct dwarf_function *v;
	size_t nr, cap;
};

static bool has_slot(const struct naming *n, const struct found_table *t, unsigned slot)
{
	return !n->has_slot || n->has_slot(t, slot);
}

unsigned names_first_slot(const struct naming *n, const struct found_table *t)
{
	for (size_t i = 0; i < n->nr_slots; i++)
		if (has_slot(n, t, n->slots[i]))
			return n->slots[i];
	return n->slots[0];
}

static uint64_t first_function(const struct naming *n, const struct found_table *t)
{
	return t->plan.words[names_first_slot(n, t)];
}

/* How many tables have this function as their most telling one. */
static void count_first_users(struct finding *f, const struct naming *n, struct map *users)
{
	map_clear(users);
	names_each(t, f, n->kind)++ *map_put(users, first_function(n, t), NULL);
}

/* How many tables have this function in this slot. */
static void count_users(struct finding *f, const struct naming *n, unsigned slot, struct map *users)
{
	map_clear(users);
	names_each(t, f, n->kind) if (has_slot(n, t, slot))++ *map_put(users, t->plan.words[slot],
								       NULL);
}

static int by_va(const void *a, const void *b)
{
	const struct dwarf_function *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

struct dwarf_function *names_find(struct dwarf_function *fns, size_t nr, uint64_t va)
{
	struct dwarf_function key = { .va = va };

	return bsearch(&key, fns, nr, sizeof(*fns), by_va);
}

/* The mangled name of the future's code. Bare line tables leave it to the symbols. */
static const char *body_name(struct finding *f, const struct dwarf_function *fn)
{
	size_t nr = 0;
	const struct symbol *s = fn->body_va ? symtab_at(f->syms, fn->body_va, &nr) : NULL;

	if (fn->body_linkage)
		return fn->body_linkage;
	return nr == 1 ? s->name : NULL; /* of several, any may be another function's */
}

/* The type inside a type, with impl blocks named and in place of debug info's own spelling. */
static char *resolve_impl(struct finding *f, const struct span *type,
			  const struct dwarf_function *fn)
{
	const char *body = body_name(f, fn);
	struct strbuf out = STRBUF_INIT;
	char *path, *named;
	struct rust_name n;
	struct span env;
	uint32_t at;

	rust_name_init(&n, type->s, type->len);
	at = fn->env_path && body ? rust_name_find_path(&n, fn->env_path) : 0;
	env = at ? rust_name_span(&n, at) : (struct span){ type->s, 0 };
	rust_name_release(&n);
	path = xstrndup(env.s, env.len);
	named = name_impl(path, body);
	strbuf_add(&out, type->s, env.s - type->s);
	strbuf_addstr(&out, named);
	strbuf_add(&out, env.s + env.len, type->s + type->len - (env.s + env.len));
	free(path);
	free(named);
	return strbuf_take(&out);
}

static bool name_by_dwarf(struct finding *f, const struct naming *n, struct found_table *t,
			  const struct dwarf_function *fn)
{
	struct span args[NAMES_MAX_ARGS];
	char *type;

	if (!fn || !fn->name ||
	    type_args(fn->name, strlen(fn->name), args, NAMES_MAX_ARGS) != n->nr_args)
		return false;
	type = resolve_impl(f, &args[0], fn);
	args[0] = (struct span){ type, strlen(type) };
	n->set(f, t, args);
	free(type);
	if (fn->has_type)
		t->size_bytes = fn->type_bytes;
	f->has_functions = true;
	f->has_types |= fn->has_type;
	if (fn->file && !(n->is_executors && fn->env_path && n->is_executors(fn->env_path))) {
		t->file = finding_string(f, fn->file);
		t->line = fn->line;
	}
	return true;
}

void names_are_merged(struct finding *f, const struct naming *n, struct found_table *t,
		      uint32_t nr_users)
{
	if (t->name[0] && t->nr_candidates < nr_users) {
		char *name = xasprintf("%s | ?", t->name);

		t->name = finding_string(f, name);
		t->nr_candidates = nr_users;
		t->size_bytes = n->room(t); /* what is told of may be another's */
		free(name);
	}
}

/* All functions that tell of a type, sorted, each once. */
static void collect(struct finding *f, const struct naming *n, struct functions *fns)
{
	size_t kept = 0;

	names_each(t, f, n->kind) for (size_t i = 0; i < n->nr_slots;
				       i++) if (has_slot(n, t, n->slots[i]))
		vec_push(fns, (struct dwarf_function){ .va = t->plan.words[n->slots[i]] });
	if (fns->nr)
		qsort(fns->v, fns->nr, sizeof(*fns->v), by_va);
	for (size_t i = 0; i < fns->nr; i++)
		if (!i || fns->v[i].va != fns->v[kept - 1].va)
			fns->v[kept++] = fns->v[i];
	fns->nr = kept;
}

static void names_by_dwarf(struct finding *f, const struct naming *n)
{
	struct functions fns = { 0 };
	struct map users = MAP_INIT;

	collect(f, n, &fns);
	dwarf_find(f->dwarf, fns.v, fns.nr);
	if (n->found)
		n->found(f, fns.v, fns.nr);
	for (size_t i = 0; i < n->nr_slots; i++) {
		unsigned slot = n->slots[i];

		count_users(f, n, slot, &users);
		names_each(t, f, n->kind) if (!t->name[0] && has_slot(n, t, slot) &&
					      *map_get(&users, t->plan.words[slot]) == 1)
			name_by_dwarf(f, n, t, names_find(fns.v, fns.nr, t->plan.words[slot]));
	}
	count_first_users(f, n, &users);
	names_each(t, f,
		   n->kind) if (!t->name[0] &&
				name_by_dwarf(f, n, t,
					      names_find(fns.v, fns.nr, first_function(n, t))))
		names_are_merged(f, n, t, *map_get(&users, first_function(n, t)));
	names_by_makers(f, n, fns.v, fns.nr);
	map_release(&users);
	vec_release(&fns);
}

/* Adds the future type of each instance at this address. */
static void name_by_v0(struct finding *f, const struct naming *n, struct found_table *t,
		       uint64_t va)
{
	size_t nr;
	const struct symbol *s = symtab_at(f->syms, va, &nr);

	for (size_t i = 0; i < nr; i++) {
		char *text = demangle_is_v0(s[i].name) ? demangle(s[i].name) : NULL;
		const char *holder = text ? n->v0_holder(text) : NULL, *before = t->name;
		struct span args[NAMES_MAX_ARGS];

		if (holder &&
		    type_args(holder, strlen(holder), args, NAMES_MAX_ARGS) == n->nr_args) {
			n->set(f, t, args);
			if (before[0] && strcmp(before, t->name) != 0) {
				char *both = str_has_item(before, t->name, " | ")
						     ? xstrdup(before)
						     : xasprintf("%s | %s", before, t->name);

				t->name = finding_string(f, both);
				t->nr_candidates = i + 1;
				free(both);
			}
		}
		free(text);
	}
}

static void names_by_v0(struct finding *f, const struct naming *n)
{
	struct map users = MAP_INIT;

	for (size_t i = 0; i < n->nr_slots; i++) {
		unsigned slot = n->slots[i];
		size_t nr;

		count_users(f, n, slot, &users);
		names_each(t, f, n->kind) if (!t->name[0] && has_slot(n, t, slot) &&
					      *map_get(&users, t->plan.words[slot]) == 1 &&
					      symtab_at(f->syms, t->plan.words[slot], &nr) &&
					      nr == 1) name_by_v0(f, n, t, t->plan.words[slot]);
	}
	count_first_users(f, n, &users);
	names_each(t, f, n->kind)
	{
		if (t->name[0])
			continue;
		name_by_v0(f, n, t, first_function(n, t));
		names_are_merged(f, n, t, *map_get(&users, first_function(n, t)));
	}
	map_release(&users);
}

bool names_by_rules(struct finding *f, const struct naming *n)
{
	size_t nr = 0;

	names_each(t, f, n->kind)
	{
		t->size_bytes = n->room(t);
		nr++;
	}
	if (nr && f->dwarf)
		names_by_dwarf(f, n);
	if (nr && f->syms->nr)
		names_by_v0(f, n);
	return nr;
}
