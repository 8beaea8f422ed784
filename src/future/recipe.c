// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A *spot* is where a value of some type begins to matter: a node, and how far into the value it
 * lies. Types lead to each other in circles; a node is known before its edges are made, so each
 * circle ends there.
 */
#include "future/recipe_priv.h"

#define WORD 8 /* bytes of a pointer */

struct spot {
	uint32_t off, node;
};

void recipes_init(struct recipes *r)
{
	*r = (struct recipes){ 0 };
	vec_push(&r->nodes, (struct wire_node){ .kind = WIRE_NODE_END });
	vec_push(&r->edges, (struct wire_edge){ 0 });
	vec_push(&r->meanings,
		 (struct recipe_meaning){ .variant = PARTS_NO_VARIANT, .type = RECIPE_NO_TYPE });
}

void recipes_release(struct recipes *r)
{
	vec_each (b, &r->books) {
		parts_release(&(*b)->parts);
		map_release(&(*b)->spots);
		map_release(&(*b)->starts);
		map_release(&(*b)->numbers);
		free(*b);
	}
	vec_release(&r->types);
	vec_release(&r->variants);
	vec_release(&r->parts);
	vec_release(&r->sources);
	vec_release(&r->books);
	vec_release(&r->nodes);
	vec_release(&r->edges);
	vec_release(&r->meanings);
	vec_release(&r->dyns);
}

struct recipe_book *recipes_add(struct recipes *r, struct layouts *l, uint64_t base)
{
	struct recipe_book *b;

	if (r->books.nr == RECIPE_MAX_BOOKS)
		return NULL;
	b = xcalloc(1, sizeof(*b));
	b->recipes = r;
	b->base = base;
	parts_init(&b->parts, l);
	vec_push(&r->books, b);
	return b;
}

/* ---- making them ---- */

static struct spot spot_of(struct recipe_book *b, uint32_t type, unsigned depth);

/* So many edges in a row; 0: there is no room. */
static uint32_t new_edges(struct recipe_book *b, uint32_t nr)
{
	struct recipes *r = b->recipes;
	uint32_t first = r->edges.nr;

	if (nr > WIRE_MAX_EDGES - first) {
		b->is_full = true;
		return 0;
	}
	for (uint32_t i = 0; i < nr; i++) {
		vec_push(&r->edges, (struct wire_edge){ 0 });
		vec_push(&r->meanings, (struct recipe_meaning){ .variant = PARTS_NO_VARIANT,
								.type = RECIPE_NO_TYPE });
	}
	return first;
}

static uint32_t new_node(struct recipe_book *b, const struct wire_node *n)
{
	struct recipes *r = b->recipes;

	if (r->nodes.nr >= WIRE_MAX_NODES || b->is_full) {
		b->is_full = true;
		return 0;
	}
	vec_push(&r->nodes, *n);
	return r->nodes.nr - 1;
}

static void set_edge(struct recipe_book *b, uint32_t edge, struct spot to)
{
	b->recipes->edges.v[edge].off = to.off;
	b->recipes->edges.v[edge].node = to.node;
}

static struct spot moved(struct spot s, uint64_t off)
{
	if (s.node)
		s.off += off;
	return s;
}

/* The parts of a value: none, one that stands for it, or a fork to all of them. */
static struct spot fork_to(struct recipe_book *b, uint32_t type, uint32_t variant, unsigned depth)
{
	struct part parts[PARTS_MAX];
	struct spot spots[PARTS_MAX];
	unsigned nr = parts_list(&b->parts, type, variant, parts), kept = 0;
	struct wire_node n = { .kind = WIRE_NODE_FORK };

	for (unsigned i = 0; i < nr; i++) {
		struct spot s = moved(spot_of(b, parts[i].type, depth), parts[i].off);

		if (s.node)
			spots[kept++] = s;
	}
	if (kept <= 1)
		return kept ? spots[0] : (struct spot){ 0 };
	n.nr = kept;
	n.first = new_edges(b, kept);
	for (unsigned i = 0; i < kept && n.first; i++)
		set_edge(b, n.first + i, spots[i]);
	return (struct spot){ .node = n.first ? new_node(b, &n) : 0 };
}

static void set_variant(struct recipe_book *b, uint32_t edge, uint32_t type, uint32_t variant,
			unsigned depth)
{
	struct recipe_meaning *m = &b->recipes->meanings.v[edge];

	m->variant = variant;
	b->recipes->edges.v[edge].value =
		layouts_get(b->parts.layouts, type)->variants[variant].value;
	set_edge(b, edge, fork_to(b, type, variant, depth));
}

/* Values that count up from 0 are looked up, others compared. */
static bool is_dense(const struct layout *t)
{
	for (uint32_t i = 0; i < t->nr_variants; i++)
		if (t->variants[i].is_default || t->variants[i].value > t->nr_variants + 8)
			return false;
	return true;
}

static uint64_t nr_values(const struct layout *t)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < t->nr_variants; i++)
		nr = MAX(nr, t->variants[i].value + 1);
	return nr;
}

/* One that can be read at once, in the word that it lies in. */
static bool has_number(const struct layout *t)
{
	uint32_t bytes = t->discr_bytes;

	return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
	       t->discr_off % bytes == 0 && parts_fit(t->size_bytes, t->discr_off, bytes);
}

static void remember(struct recipe_book *b, uint32_t type, struct spot s)
{
	*map_put(&b->spots, type, NULL) = (uint64_t)s.off << 32 | s.node;
}

/* A choice by a number: its node is known before what lies behind it. */
static struct spot spot_of_variants(struct recipe_book *b, uint32_t type, const struct layout *t,
				    unsigned depth)
{
	bool is_listed = is_dense(t);
	struct wire_node n = { .kind = is_listed ? WIRE_NODE_STATE : WIRE_NODE_CASE,
			       .bytes = t->discr_bytes,
			       .off = t->discr_off };
	uint64_t nr = is_listed ? nr_values(t) : t->nr_variants;
	uint32_t at = 0;
	struct spot s = { 0 };

	if (nr > UINT16_MAX || !has_number(t))
		return s;
	n.nr = nr;
	n.first = new_edges(b, nr);
	for (uint32_t i = 0; i < t->nr_variants; i++)
		n.other |= t->variants[i].is_default;
	s.node = n.first ? new_node(b, &n) : 0;
	remember(b, type, s);
	for (uint32_t i = 0; i < t->nr_variants && s.node; i++) {
		uint32_t place = n.nr - 1u;

		if (is_listed)
			place = t->variants[i].value;
		else if (!t->variants[i].is_default)
			place = at++;
		if (place < n.nr)
			set_variant(b, n.first + place, type, i, depth);
	}
	return s;
}

static struct spot spot_of_pointer(struct recipe_book *b, uint32_t type, unsigned depth)
{
	struct wire_node n = { .kind = WIRE_NODE_DEREF, .nr = 1 };
	struct spot s = { 0 };

	if (layouts_get(b->parts.layouts, type)->size_bytes != WORD)
		return s;
	n.first = new_edges(b, 1);
	s.node = n.first ? new_node(b, &n) : 0;
	remember(b, type, s);
	if (s.node)
		set_edge(b, n.first, fork_to(b, type, PARTS_NO_VARIANT, depth));
	return s;
}

/* Whatever table of a future may be behind a pointer that is met. */
static void add_dyns(struct recipe_book *b)
{
	struct layouts *l = b->parts.layouts;
	uint64_t va, last = 0;

	if (b->has_dyns)
		return;
	b->has_dyns = true;
	for (uint32_t i = 0; (va = layouts_vtable(l, i)) != UINT64_MAX && !b->is_full; i++) {
		uint32_t type = va == last ? LAYOUT_NONE : layouts_of_vtable(l, va), edge;

		last = va;
		if (type == LAYOUT_NONE || !parts_hold(&b->parts, type))
			continue;
		edge = new_edges(b, 1);
		if (!edge)
			return;
		b->recipes->meanings.v[edge].type = recipe_type_number(b, type);
		set_edge(b, edge, spot_of(b, type, RECIPE_MAX_DEPTH));
		vec_push(&b->recipes->dyns,
			 (struct wire_dyn){ .addr = b->base + va, .edge = edge });
	}
}

static struct spot spot_of_dyn(struct recipe_book *b, uint32_t type, const struct layout *t)
{
	uint64_t pointer_off = layout_member(t, "pointer")->off;
	uint64_t vtable_off = layout_member(t, "vtable")->off;
	struct wire_node n = { .kind = WIRE_NODE_DYN, .off = pointer_off, .other = vtable_off };
	struct spot s = { 0 };

	if (!parts_fit(t->size_bytes, pointer_off, WORD) ||
	    !parts_fit(t->size_bytes, vtable_off, WORD))
		return s;
	s.node = new_node(b, &n);
	remember(b, type, s);
	add_dyns(b);
	return s;
}

static struct spot spot_of(struct recipe_book *b, uint32_t type, unsigned depth)
{
	const struct layout *t = layouts_get(b->parts.layouts, type);
	const uint64_t *known = map_get(&b->spots, type);
	struct spot s = { 0 };

	if (known)
		return (struct spot){ *known >> 32, *known };
	if (b->is_full || !parts_hold(&b->parts, type))
		return s;
	if (!depth) {
		remember(b, type, s); /* what is cut off here is so everywhere: see explain */
		return s;
	}
	depth--;
	switch (parts_role(&b->parts, type)) {
	case PARTS_COROUTINE:
		return spot_of_variants(b, type, t, depth);
	case PARTS_ENUM:
		if (t->nr_variants > 1)
			return spot_of_variants(b, type, t, depth);
		s = fork_to(b, type, 0, depth);
		break;
	case PARTS_POINTER:
		return spot_of_pointer(b, type, depth);
	case PARTS_DYN:
		return spot_of_dyn(b, type, t);
	default:
		s = fork_to(b, type, PARTS_NO_VARIANT, depth);
	}
	remember(b, type, s);
	return s;
}

/*
 * What holds the future of a task that is not over: an enum that says so has it in the one variant
 * that can.
 */
static bool find_future(struct recipe_book *b, struct part *p)
{
	struct layouts *l = b->parts.layouts;
	const struct layout *t = layouts_get(l, p->type);
	struct part parts[PARTS_MAX], found = { 0 };
	unsigned nr = 0;

	if (t->kind != LAYOUT_ENUM || t->is_future)
		return true;
	for (uint32_t i = 0; i < t->nr_variants; i++)
		if (parts_list(&b->parts, p->type, i, parts)) {
			found = parts[0];
			nr++;
		}
	*p = (struct part){ p->off + found.off, found.type };
	return nr == 1;
}

uint32_t recipe_compile(struct recipe_book *b, const struct task_place *place)
{
	struct part p = { place->off, place->type };
	bool was_there;
	uint64_t *start;
	struct spot s;
	uint32_t edge;

	if (!parts_fit(place->task_bytes, p.off,
		       layouts_get(b->parts.layouts, p.type)->size_bytes) ||
	    !find_future(b, &p) || p.off > UINT16_MAX * UINT64_C(16) ||
	    !parts_hold(&b->parts, p.type))
		return 0;
	start = map_put(&b->starts, p.off << 32 | p.type, &was_there);
	if (was_there)
		return *start;
	s = moved(spot_of(b, p.type, RECIPE_MAX_DEPTH), p.off);
	edge = s.node ? new_edges(b, 1) : 0;
	if (b->is_full)
		edge = 0; /* half a recipe would be a wrong one */
	if (edge) {
		set_edge(b, edge, s);
		b->recipes->meanings.v[edge].type = recipe_type_number(b, p.type);
	}
	*map_put(&b->starts, p.off << 32 | p.type, NULL) = edge;
	return edge;
}
