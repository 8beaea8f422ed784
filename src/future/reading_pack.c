// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A reading as bytes. They come back from a process that may have been taken over by the file that
 * it read, or from a cache file: every number that is used to find something is checked here, once.
 */
#include <string.h>

#include "future/reading_priv.h"
#include "symbol/demangle.h"

#define LEAST_BYTES 8 /* of anything that is counted */

enum outcome { FAILED, READ, WANTED };

/* ---- to bytes ---- */

/* Types share most of their strings, so these are numbered. */
struct packed_variant {
	uint32_t file, line, last_line, state, first_part, nr_parts;
};

struct packed_type {
	uint32_t name, readable, function, first_variant, nr_variants, first_part, nr_parts;
	uint8_t role, flags, pad[2];
};

enum { IS_COROUTINE = 1, IS_STEP = 2, IS_BORROW = 4, HOLDS = 8, HAS_NODE = 16 };

static void pack_type(struct strbuf *b, struct intern *strings, const struct recipe_type *t)
{
	char *readable = readable_type(t->name, strlen(t->name), false);
	struct packed_type p = {
		.name = intern_puts(strings, t->name),
		.readable = intern_puts(strings, readable),
		.function = intern_puts(strings, t->function),
		.first_variant = t->first_variant,
		.nr_variants = t->nr_variants,
		.first_part = t->parts.first,
		.nr_parts = t->parts.nr,
		.role = t->role,
		.flags = (t->is_coroutine ? IS_COROUTINE : 0) | (t->is_step ? IS_STEP : 0) |
			 (t->is_borrow ? IS_BORROW : 0) | (t->holds ? HOLDS : 0) |
			 (t->has_node ? HAS_NODE : 0),
	};

	strbuf_add(b, &p, sizeof(p));
	free(readable);
}

static void pack_variant(struct strbuf *b, struct intern *strings, const struct recipe_variant *v)
{
	struct packed_variant p = { intern_puts(strings, v->file),
				    v->line,
				    v->last_line,
				    v->state,
				    v->parts.first,
				    v->parts.nr };

	strbuf_add(b, &p, sizeof(p));
}

static void pack_types(struct strbuf *b, const struct recipes *r)
{
	struct intern *strings = intern_new();

	pack_number(b, r->variants.nr);
	vec_each (v, &r->variants)
		pack_variant(b, strings, v);
	pack_number(b, r->types.nr);
	vec_each (t, &r->types)
		pack_type(b, strings, t);
	pack_number(b, intern_count(strings));
	for (uint32_t i = 0; i < intern_count(strings); i++)
		pack_string(b, intern_get(strings, i));
	intern_free(strings);
}

#define pack_vec(b, vec)                                                        \
	do {                                                                    \
		pack_number(b, (vec)->nr);                                      \
		if ((vec)->nr)                                                  \
			strbuf_add(b, (vec)->v, (vec)->nr * sizeof(*(vec)->v)); \
	} while (0)

static void pack_recipes(struct strbuf *b, const struct recipes *r)
{
	pack_vec(b, &r->nodes);
	pack_vec(b, &r->edges);
	pack_vec(b, &r->meanings);
	pack_vec(b, &r->dyns);
	pack_vec(b, &r->parts);
	pack_types(b, r);
}

static void pack_roots(struct strbuf *b, const struct reading *r)
{
	pack_number(b, r->root_local_off);
	pack_number(b, r->root_types.nr);
	vec_each (t, &r->root_types) {
		pack_number(b, t->runtime);
		pack_string(b, t->name);
		pack_string(b, t->file);
		pack_number(b, t->line);
		pack_number(b, t->size_bytes);
	}
	pack_number(b, r->roots.nr);
	vec_each (root, &r->roots) {
		strbuf_add(b, &root->plan, sizeof(root->plan));
		pack_number(b, root->runtime);
		pack_number(b, root->type);
	}
}

void reading_pack(struct strbuf *b, const struct reading *r)
{
	pack_number(b, READ);
	discovery_pack(b, r->d);
	pack_recipes(b, &r->recipes);
	pack_roots(b, r);
	pack_number(b, r->needs.nr);
	vec_each (n, &r->needs) {
		pack_string(b, n->path);
		strbuf_add(b, &n->was, sizeof(n->was));
	}
}

void reading_pack_error(struct strbuf *b, const struct err *e)
{
	pack_number(b, FAILED);
	pack_number(b, e->tag);
	pack_string(b, e->msg);
}

void reading_pack_wanted(struct strbuf *b, const char *debug_path)
{
	pack_number(b, WANTED);
	pack_string(b, debug_path);
}

/* ---- from bytes ---- */

#define unpack_vec(u, vec, max)                                     \
	do {                                                        \
		uint64_t nr_ = unpack_count(u, sizeof(*(vec)->v));  \
                                                                    \
		(u)->is_broken |= nr_ > (max);                      \
		nr_ = (u)->is_broken ? 0 : nr_;                     \
		vec_grow(vec, nr_);                                 \
		unpack_bytes(u, (vec)->v, nr_ * sizeof(*(vec)->v)); \
		(vec)->nr = nr_;                                    \
	} while (0)

static bool is_range(uint64_t first, uint64_t nr, uint64_t max)
{
	return first <= max && nr <= max - first;
}

static bool has_bytes(const struct wire_node *n)
{
	return n->bytes == 1 || n->bytes == 2 || n->bytes == 4 || n->bytes == 8;
}

static bool is_sound_node(const struct wire_node *n, const struct recipes *r)
{
	if (n->kind >= WIRE_NR_NODE_KINDS || !is_range(n->first, n->nr, r->edges.nr))
		return false;
	switch (n->kind) {
	case WIRE_NODE_STATE:
	case WIRE_NODE_CASE:
		return has_bytes(n) && n->nr && n->first;
	case WIRE_NODE_DEREF:
	case WIRE_NODE_FORK:
		return n->nr && n->first;
	default:
		return true;
	}
}

static bool are_sound(const struct recipes *r)
{
	bool is_sound = r->nodes.nr && r->edges.nr && r->edges.nr == r->meanings.nr &&
			r->nodes.v[0].kind == WIRE_NODE_END;

	vec_each (n, &r->nodes)
		is_sound = is_sound && is_sound_node(n, r);
	vec_each (e, &r->edges)
		is_sound = is_sound && e->node < r->nodes.nr;
	vec_each (m, &r->meanings)
		is_sound = is_sound && (m->type == RECIPE_NO_TYPE || m->type < r->types.nr);
	vec_each (d, &r->dyns)
		is_sound = is_sound && d->edge < r->edges.nr;
	vec_each (p, &r->parts)
		is_sound = is_sound && *p < r->types.nr;
	vec_each (v, &r->variants)
		is_sound = is_sound && is_range(v->parts.first, v->parts.nr, r->parts.nr);
	vec_each (t, &r->types)
		is_sound = is_sound && is_range(t->parts.first, t->parts.nr, r->parts.nr) &&
			   is_range(t->first_variant, t->nr_variants, r->variants.nr);
	return is_sound;
}

struct packed {
	VEC(struct packed_variant) variants;
	VEC(struct packed_type) types;
	VEC(const char *) strings;
};

static const char *string_of(const struct packed *p, uint32_t number, bool *is_broken)
{
	*is_broken |= number >= p->strings.nr;
	return number < p->strings.nr ? p->strings.v[number] : "";
}

static void add_variants(const struct packed *p, struct recipes *r, bool *is_broken)
{
	vec_each (v, &p->variants) {
		struct recipe_variant to = { .file = string_of(p, v->file, is_broken),
					     .line = v->line,
					     .last_line = v->last_line,
					     .state = v->state,
					     .parts = { v->first_part, v->nr_parts } };

		*is_broken |= v->state > TRACE_STEP_READY || v->nr_parts > PARTS_MAX;
		vec_push(&r->variants, to);
	}
}

static void add_types(const struct packed *p, struct recipes *r, bool *is_broken)
{
	vec_each (t, &p->types) {
		struct recipe_type to = { .name = string_of(p, t->name, is_broken),
					  .readable = string_of(p, t->readable, is_broken),
					  .function = string_of(p, t->function, is_broken),
					  .first_variant = t->first_variant,
					  .nr_variants = t->nr_variants,
					  .parts = { t->first_part, t->nr_parts },
					  .role = t->role,
					  .is_coroutine = t->flags & IS_COROUTINE,
					  .is_step = t->flags & IS_STEP,
					  .is_borrow = t->flags & IS_BORROW,
					  .holds = t->flags & HOLDS,
					  .has_node = t->flags & HAS_NODE };

		*is_broken |= t->role > PARTS_DYN || t->nr_parts > PARTS_MAX;
		vec_push(&r->types, to);
	}
}

static void unpack_types(struct unpack *u, struct intern *strings, struct recipes *r)
{
	struct packed p = { 0 };
	uint64_t nr;

	unpack_vec(u, &p.variants, UINT32_MAX);
	unpack_vec(u, &p.types, UINT32_MAX);
	nr = unpack_count(u, 1);
	while (nr-- && !u->is_broken)
		vec_push(&p.strings, unpack_clean(u, strings));
	if (!u->is_broken) {
		add_variants(&p, r, &u->is_broken);
		add_types(&p, r, &u->is_broken);
	}
	vec_release(&p.variants);
	vec_release(&p.types);
	vec_release(&p.strings);
}

static void unpack_recipes(struct unpack *u, struct intern *strings, struct recipes *r)
{
	unpack_vec(u, &r->nodes, WIRE_MAX_NODES);
	unpack_vec(u, &r->edges, WIRE_MAX_EDGES);
	unpack_vec(u, &r->meanings, WIRE_MAX_EDGES);
	unpack_vec(u, &r->dyns, WIRE_MAX_EDGES);
	unpack_vec(u, &r->parts, UINT32_MAX);
	unpack_types(u, strings, r);
	u->is_broken |= r->nodes.nr && !are_sound(r);
}

static void unpack_root_types(struct unpack *u, struct reading *r)
{
	uint64_t nr = unpack_count(u, LEAST_BYTES);

	while (nr-- && !u->is_broken) {
		struct reading_root_type t = { .runtime = unpack_below(u, r->d->nr_runtimes) };

		t.name = unpack_clean(u, r->strings);
		t.file = unpack_clean(u, r->strings);
		t.line = unpack_number(u);
		t.size_bytes = unpack_number(u);
		vec_push(&r->root_types, t);
	}
}

static void unpack_roots(struct unpack *u, struct reading *r)
{
	uint64_t nr;

	r->root_local_off = unpack_below(u, UINT32_MAX);
	unpack_root_types(u, r);
	nr = unpack_count(u, sizeof(struct wire_framed));
	u->is_broken |= nr > WIRE_MAX_FRAMED;
	while (nr-- && !u->is_broken) {
		struct reading_root root = { 0 };

		unpack_bytes(u, &root.plan, sizeof(root.plan));
		root.runtime = unpack_below(u, r->d->nr_runtimes);
		root.type = unpack_number(u);
		u->is_broken |= root.type >= r->root_types.nr && root.type != RECIPE_NO_TYPE;
		u->is_broken |= root.plan.recipe && root.plan.recipe >= r->recipes.edges.nr;
		vec_push(&r->roots, root);
	}
}

static void unpack_needs(struct unpack *u, struct reading *r)
{
	uint64_t nr = unpack_count(u, sizeof(struct fingerprint));

	while (nr-- && !u->is_broken) {
		struct reading_need need = {
			.path = intern_get(r->strings, intern_puts(r->strings, unpack_string(u)))
		};

		unpack_bytes(u, &need.was, sizeof(need.was));
		vec_push(&r->needs, need);
	}
}

/* What the tables lead to. */
static bool leads_somewhere(const struct reading *r)
{
	for (uint32_t i = 0; i < r->d->nr_tables; i++) {
		const struct wire_table *t = &r->d->tables[i].plan;

		if ((t->recipe && t->recipe >= r->recipes.edges.nr) ||
		    (t->kind == WIRE_TABLE_FUTURE && t->id_off >= r->d->futures.nr))
			return false;
	}
	return true;
}

static void unpack_error(struct unpack *u, struct err *e)
{
	enum err_tag tag = unpack_below(u, ERR_PERMISSION + 1);
	struct intern *strings = intern_new();
	const char *text = unpack_clean(u, strings);

	if (!u->is_broken && tag != ERR_NONE)
		err_set(e, tag, "%s", text);
	intern_free(strings);
}

char *reading_wanted(const struct strbuf *answer)
{
	struct unpack u = UNPACK_INIT(answer->s, answer->len);
	bool is_wanted = unpack_below(&u, WANTED + 1) == WANTED;
	const char *path = unpack_string(&u);

	return is_wanted && !u.is_broken && *path ? xstrdup(path) : NULL;
}

struct reading *reading_unpack(struct strbuf *data, struct err *e)
{
	struct unpack u = UNPACK_INIT(data->s, data->len);
	struct reading *r;

	if (unpack_below(&u, READ + 1) == FAILED) {
		unpack_error(&u, e);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->strings = intern_new();
	r->data = strbuf_take(data);
	r->d = discovery_unpack(&u);
	if (r->d) {
		unpack_recipes(&u, r->strings, &r->recipes);
		unpack_roots(&u, r);
		unpack_needs(&u, r);
	}
	if (r->d && !u.is_broken && u.p == u.end && leads_somewhere(r))
		return r;
	reading_free(r);
	return NULL;
}
