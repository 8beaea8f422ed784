// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A *spot* is where a value of some type begins to matter: a node, and how far into the value it
 * lies. Types lead to each other in circles; a node is known before its edges are made, so each
 * circle ends there.
 */
#include "runtime/recipe.h"

#include <string.h>

#include "base/map.h"
#include "runtime/leaf.h"
#include "runtime/role.h"
#include "runtime/source.h"

#define MAX_DEPTH  128	/* of values inside of values */
#define MAX_VISITS 4096 /* of them, to explain one path */

#define WORD	   8 /* bytes of a pointer */

struct spot {
	uint32_t off, node;
};

struct recipe_book {
	struct recipes *recipes;
	struct parts parts;
	uint32_t number;
	uint64_t base;
	struct map spots;  /* by type: node, and offset above it */
	struct map starts; /* by offset and type of a future in its task: the first edge */
	bool has_dyns;	   /* all its tables of trait objects are in dyns */
	bool is_full;
};

void recipes_init(struct recipes *r)
{
	*r = (struct recipes){ 0 };
	vec_push(&r->nodes, (struct wire_node){ .kind = WIRE_NODE_END });
	vec_push(&r->edges, (struct wire_edge){ 0 });
	vec_push(&r->meanings,
		 (struct recipe_meaning){ .variant = PARTS_NO_VARIANT, .type = LAYOUT_NONE });
}

void recipes_release(struct recipes *r)
{
	vec_each (b, &r->books) {
		parts_release(&(*b)->parts);
		map_release(&(*b)->spots);
		map_release(&(*b)->starts);
		free(*b);
	}
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
	b->number = r->books.nr;
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
								.type = LAYOUT_NONE,
								.book = b->number });
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
		b->recipes->meanings.v[edge].type = type;
		set_edge(b, edge, spot_of(b, type, MAX_DEPTH));
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
	s = moved(spot_of(b, p.type, MAX_DEPTH), p.off);
	edge = s.node ? new_edges(b, 1) : 0;
	if (b->is_full)
		edge = 0; /* half a recipe would be a wrong one */
	if (edge) {
		set_edge(b, edge, s);
		b->recipes->meanings.v[edge].type = p.type;
	}
	*map_put(&b->starts, p.off << 32 | p.type, NULL) = edge;
	return edge;
}

/* ---- reading what came of them ---- */

struct reading {
	struct recipes *recipes;
	const uint32_t *choices;
	unsigned nr, at;
	unsigned nr_visits;
	bool is_broken;
	bool is_borrowed; /* what comes next */
	bool is_cut;	  /* … and the walk did not go there */
	struct recipe_steps *out;
};

static void explain(struct reading *r, struct recipe_book *b, uint32_t type, uint32_t outer,
		    unsigned depth, bool is_awaited);

/* The next choice, NULL: there is none, as where a walk was too long. */
static const struct recipe_meaning *take(struct reading *r, uint32_t *edge)
{
	if (r->at >= r->nr || r->choices[r->at] >= r->recipes->meanings.nr) {
		r->is_broken = true;
		return NULL;
	}
	*edge = r->choices[r->at++];
	return &r->recipes->meanings.v[*edge];
}

static uint32_t add_step(struct reading *r, const struct recipe_book *b, uint32_t type,
			 uint32_t variant, uint32_t outer)
{
	if (outer != UINT32_MAX)
		r->out->steps.v[outer].is_last = false;
	vec_push(&r->out->steps,
		 (struct recipe_step){ outer, type, variant, b->number, true, r->is_borrowed });
	r->is_borrowed = false;
	return r->out->steps.nr - 1;
}

/* A stream that is not asked for more, as its source would have it at once. */
static void drop_idle(struct reading *r, struct recipe_book *b, uint32_t step)
{
	const struct recipe_step *s = &r->out->steps.v[step];
	uint32_t outer = s->outer;
	bool has_brother = false;

	if (!s->is_last || outer == UINT32_MAX ||
	    !leaf_is_fed(layouts_get(b->parts.layouts, s->type)->name))
		return;
	r->out->steps.nr = step;
	for (uint32_t i = outer + 1; i < step; i++)
		has_brother = has_brother || r->out->steps.v[i].outer == outer;
	r->out->steps.v[outer].is_last = !has_brother;
}

static void explain_parts(struct reading *r, struct recipe_book *b, uint32_t type, uint32_t variant,
			  uint32_t outer, unsigned depth, bool is_awaited)
{
	struct part parts[PARTS_MAX];
	unsigned nr = parts_list(&b->parts, type, variant, parts);

	for (unsigned i = 0; i < nr && !r->is_broken; i++)
		explain(r, b, parts[i].type, outer, depth, is_awaited);
}

static void explain_dyn(struct reading *r, struct recipe_book *b, uint32_t type, uint32_t outer,
			unsigned depth)
{
	uint32_t edge;
	const struct recipe_meaning *m = take(r, &edge);

	if (!m)
		return;
	if (m->type == LAYOUT_NONE || m->book >= r->recipes->books.nr)
		add_step(r, b, type, PARTS_NO_VARIANT, outer);
	else
		explain(r, r->recipes->books.v[m->book], m->type, outer, depth, true);
}

/* is_awaited: it is a future, although nobody has seen its poll. */
static void explain(struct reading *r, struct recipe_book *b, uint32_t type, uint32_t outer,
		    unsigned depth, bool is_awaited)
{
	const struct layout *t = layouts_get(b->parts.layouts, type);
	enum parts_role role = parts_role(&b->parts, type);
	const struct recipe_meaning *m;
	uint32_t variant = PARTS_NO_VARIANT, edge, step = UINT32_MAX;
	const uint64_t *spot = map_get(&b->spots, type);
	bool was_borrowed = r->is_borrowed, was_cut = r->is_cut;
	bool parts_way = spot && (uint32_t)*spot && !was_cut;

	if (++r->nr_visits > MAX_VISITS) /* values without a choice may be any number */
		r->is_broken = true;
	if (!depth || r->is_broken)
		return;
	depth--;
	r->is_borrowed |= type_borrows(t);
	if (parts_way && role == PARTS_DYN) {
		explain_dyn(r, b, type, outer, depth);
		r->is_borrowed = was_borrowed;
		return;
	}
	if (parts_way && (role == PARTS_COROUTINE || (role == PARTS_ENUM && t->nr_variants > 1))) {
		m = take(r, &edge);
		if (!m)
			return;
		variant = m->variant;
		r->is_broken = variant == PARTS_NO_VARIANT;
	} else if (role == PARTS_ENUM && t->nr_variants == 1) {
		variant = 0;
	}
	if (parts_is_step(t) || role == PARTS_COROUTINE ||
	    (is_awaited && !parts_hold(&b->parts, type))) {
		outer = step = add_step(r, b, type, variant, outer);
		is_awaited = false;
	}
	r->is_cut = !parts_way;
	explain_parts(r, b, type, variant, outer, depth,
		      role == PARTS_COROUTINE || (is_awaited && role == PARTS_POINTER));
	if (step != UINT32_MAX && !r->is_broken)
		drop_idle(r, b, step);
	r->is_borrowed = was_borrowed;
	r->is_cut = was_cut;
}

bool recipe_explain(struct recipes *r, uint32_t edge, const uint32_t *choices, unsigned nr,
		    struct recipe_steps *out)
{
	struct reading x = { .recipes = r, .choices = choices, .nr = nr, .out = out };
	const struct recipe_meaning *m = edge < r->meanings.nr ? &r->meanings.v[edge] : NULL;

	if (!edge || !m || m->type == LAYOUT_NONE || m->book >= r->books.nr)
		return false;
	explain(&x, r->books.v[m->book], m->type, UINT32_MAX, MAX_DEPTH, true);
	return !x.is_broken && x.at == nr;
}

static bool is_below(const struct recipes *r, const struct recipe_steps *all,
		     const struct recipe_step *step, const struct leaf_above *a)
{
	for (uint32_t i = step->outer; i < all->steps.nr; i = all->steps.v[i].outer) {
		const struct recipe_step *s = &all->steps.v[i];
		struct layouts *l = r->books.v[s->book]->parts.layouts;

		if (str_has_prefix(layouts_get(l, s->type)->name, a->prefix))
			return true;
		if (a->is_parent)
			break;
	}
	return false;
}

/* What kind of thing a leaf is, perhaps by who waits for it. */
static const char *leaf_kind(const struct recipes *r, const struct recipe_steps *all,
			     const struct recipe_step *step, const struct leaf_rule *rule)
{
	for (const struct leaf_above *a = rule->above; a && a->prefix; a++)
		if (is_below(r, all, step, a))
			return a->kind ? a->kind : rule->kind;
	return rule->kind;
}

/* An enum that holds a future only at times is done when it does not: Map, MaybeDone. */
static enum trace_step_state state_of(struct parts *p, const struct recipe_step *step)
{
	const struct layout *t = layouts_get(p->layouts, step->type);
	const struct layout_variant *v = &t->variants[step->variant];
	struct part parts[PARTS_MAX];

	if (t->kind != LAYOUT_COROUTINE)
		return parts_list(p, step->type, step->variant, parts) ? TRACE_STEP_WAITS
								       : TRACE_STEP_DONE;
	if (v->awaitee >= 0)
		return TRACE_STEP_WAITS;
	return strcmp(v->name, "Unresumed") == 0 ? TRACE_STEP_NOT_STARTED : TRACE_STEP_DONE;
}

struct trace_step recipe_step_text(const struct recipes *r, const struct recipe_steps *all,
				   const struct recipe_step *step)
{
	struct parts *p = &r->books.v[step->book]->parts;
	const struct layout *t = layouts_get(p->layouts, step->type);
	const struct leaf_rule *rule = leaf_find(t->name);
	struct trace_step s = { .outer = step->outer,
				.future = t->name,
				.function = "",
				.file = "",
				.leaf = rule ? leaf_kind(r, all, step, rule) : "",
				.is_borrowed = step->is_borrowed };

	if (step->variant < t->nr_variants)
		s.state = state_of(p, step);
	if (t->kind == LAYOUT_COROUTINE && step->variant < t->nr_variants) {
		const struct layout_variant *v = &t->variants[step->variant];

		s.is_generated = true;
		s.function = t->function ? t->function : "";
		s.file = v->file ? v->file : "";
		s.line = v->line;
		s.last_line = v->last_line;
		s.is_foreign = *s.file && source_owner(s.file) != SOURCE_OF_PROGRAM;
	}
	return s;
}
