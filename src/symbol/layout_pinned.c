// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where a function keeps the value that it has pinned. Debug info tells it in three ways, by the
 * types of its variables: a variable of the value's own type, one that points to it and lies in the
 * frame as well (unoptimised code), and (optimised code) a pointer that is nowhere, for it would
 * always be the same distance from the stack pointer: that is what debug info says instead.
 *
 * Arguments of the function itself are where the value came from, and no place to look at, unless
 * the function was given a pointer, and that is what is asked for.
 */
#include <dwarf.h>
#include <string.h>

#include "arch/frame.h"
#include "symbol/layout_types.h"

#define MAX_NESTED 200
#define MAX_HOPS   16 /* from a DIE to the one that has its name */

struct place {
	enum { NOWHERE, ADDRESS, MEMORY } kind;
	bool by_rbp;
	bool is_doubtful; /* two variables do not agree */
	int64_t off;
};

/* What is said of one value. */
struct claims {
	uint32_t type;
	struct place address, value, pointer, argument; /* the last points to it, too */
	uint32_t argument_type;
};

struct hunt {
	struct layouts *l;
	const char *function, *param;
	enum layout_hunt what;
	bool by_rbp;	      /* where the function's frame is counted from */
	uint32_t frame_bytes; /* as in struct layout_pinned */
	struct raw_unit *unit;
	uint64_t unit_low_pc;
	VEC(struct layout_pinned) found;
};

static const uint64_t tags = TAG(DW_TAG_compile_unit) | TAG(DW_TAG_subprogram) |
			     TAG(DW_TAG_inlined_subroutine) | TAG(DW_TAG_lexical_block) |
			     TAG(DW_TAG_variable) | TAG(DW_TAG_formal_parameter);

/* ---- DIEs ---- */

static bool read_die(struct layouts *l, uint64_t off, struct raw_cursor *c, struct raw_die *die)
{
	return dwarf_cursor(l->d, off, c) && raw_next(c, tags, die) == 1;
}

/* The next below the one that the cursor came from; false when there is none. */
static bool next_child(struct hunt *h, struct raw_cursor *c, struct raw_die *die)
{
	return layouts_spend(h->l, 1) && raw_next(c, tags, die) == 1;
}

static void skip_below(struct raw_cursor *c, const struct raw_die *die)
{
	if (die->has_children)
		raw_skip_children(c);
}

/* Goes to the DIE that this one is a copy of. */
static bool go_to_origin(struct layouts *l, struct raw_die *die)
{
	struct raw_cursor c;

	return die->has_origin && read_die(l, die->origin_off, &c, die);
}

static uint32_t type_of_die(struct layouts *l, struct raw_die die)
{
	for (unsigned hops = 0; hops < MAX_HOPS && !die.has_type; hops++)
		if (!go_to_origin(l, &die))
			return LAYOUT_NONE;
	return die.has_type ? layouts_number(l, die.type_off) : LAYOUT_NONE;
}

/* Closures have the type arguments of the function around them, and the compiler makes one of those
 * that are equal but for these. */
static bool is_closure(const char *linkage_name)
{
	return str_has_prefix(linkage_name, "_RNC") || strstr(linkage_name, "$u7b$closure");
}

static bool is_wanted(const struct hunt *h, struct raw_die die)
{
	for (unsigned hops = 0; hops < MAX_HOPS && !die.linkage_name; hops++)
		if (!go_to_origin(h->l, &die))
			return false;
	return die.linkage_name && strstr(die.linkage_name, h->function) &&
	       (h->what != LAYOUT_HUNT_CODE || !is_closure(die.linkage_name));
}

/* ---- places ---- */

/* By rbp, where it is the frame's; elsewhere it may hold anything. */
static struct place place_of(const struct hunt *h, struct raw_bytes e)
{
	const unsigned op = raw_fixed(&e, 1);
	struct place p = { .kind = MEMORY, .by_rbp = h->by_rbp };

	if (op == DW_OP_reg0 + ARCH_DWARF_STACK_POINTER) /* a pointer that is the stack pointer */
		p = (struct place){ .kind = ADDRESS };
	else if (op == DW_OP_breg0 + ARCH_DWARF_STACK_POINTER)
		p.by_rbp = false;
	else if (op != DW_OP_fbreg && !(op == DW_OP_breg0 + ARCH_DWARF_FRAME_POINTER && h->by_rbp))
		return (struct place){ 0 };
	if (p.kind == MEMORY)
		p.off = raw_sleb(&e);
	if (p.kind == MEMORY && e.off < e.end && raw_fixed(&e, 1) == DW_OP_stack_value)
		p.kind = ADDRESS;
	return e.broken || e.off < e.end ? (struct place){ 0 } : p;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->kind == b->kind && a->by_rbp == b->by_rbp && a->off == b->off;
}

/* Nowhere, unless it is the same wherever it is known. Memory may be used for something else where
 * the variable is not. */
static struct place place_of_die(const struct hunt *h, const struct raw_die *die)
{
	struct raw_locations locations;
	struct raw_bytes expression;
	struct place all = { 0 };

	if (!die->location.form)
		return all;
	raw_locations_init(&locations, &h->l->d->raw, h->unit, &die->location);
	while (layouts_spend(h->l, 1) && raw_locations_next(&locations, &expression)) {
		struct place p = place_of(h, expression);

		if (expression.off == expression.end)
			continue;
		if (p.kind == NOWHERE || (p.kind == MEMORY && locations.is_list) ||
		    (all.kind != NOWHERE && !same_place(&all, &p)))
			return (struct place){ 0 };
		all = p;
	}
	return locations.is_broken ? (struct place){ 0 } : all;
}

/*
 * From the stack pointer or rbp; or from where the caller's frame ends, so that the stack pointer's
 * distance from there is known. The last is said where the stack pointer moves more than once, as
 * in functions whose frame is larger than a page.
 */
static bool read_frame_base(struct hunt *h, const struct raw_die *function)
{
	struct raw_locations locations;
	struct raw_bytes e;
	int64_t off;
	unsigned op;

	if (!function->frame_base.form)
		return false;
	raw_locations_init(&locations, &h->l->d->raw, h->unit, &function->frame_base);
	if (locations.is_list || !raw_locations_next(&locations, &e))
		return false;
	op = raw_fixed(&e, 1);
	if (op != DW_OP_call_frame_cfa) {
		h->by_rbp = op == DW_OP_reg0 + ARCH_DWARF_FRAME_POINTER;
		return e.off == e.end && !e.broken &&
		       (h->by_rbp || op == DW_OP_reg0 + ARCH_DWARF_STACK_POINTER);
	}
	if (raw_fixed(&e, 1) != DW_OP_consts)
		return false;
	off = raw_sleb(&e);
	if (raw_fixed(&e, 1) != DW_OP_plus || e.broken || e.off < e.end || off >= 0 ||
	    off < INT32_MIN)
		return false;
	h->frame_bytes = -off;
	return true;
}

/* ---- variables ---- */

/* `&mut T` or `Pin<&mut T>`. */
static bool points_to(struct layouts *l, uint32_t type, uint32_t target)
{
	const struct layout *t = layouts_get(l, type);

	if (t->kind == LAYOUT_STRUCT && t->nr_members == 1 &&
	    str_has_prefix(t->name, "core::pin::Pin<"))
		t = layouts_get(l, t->members[0].type);
	return t->kind == LAYOUT_POINTER && t->target == target;
}

static void claim(struct place *of, const struct place *p)
{
	if (of->kind == NOWHERE)
		*of = *p;
	else if (!same_place(of, p))
		of->is_doubtful = true;
}

static void on_variable(struct hunt *h, struct claims *c, const struct raw_die *die, bool is_own)
{
	bool is_variable = die->tag == DW_TAG_variable, is_it;
	struct place p = place_of_die(h, die);
	uint32_t type = p.kind == NOWHERE ? LAYOUT_NONE : type_of_die(h->l, *die);

	is_it = type == c->type;
	if (type == LAYOUT_NONE || (!is_it && !points_to(h->l, type, c->type)))
		return;
	if (!is_it && p.kind == ADDRESS)
		claim(&c->address, &p);
	else if (is_own && is_variable && p.kind == MEMORY)
		claim(is_it ? &c->value : &c->pointer, &p);
	else if (is_own && !is_it && p.kind == MEMORY) {
		claim(&c->argument, &p);
		c->argument_type = type;
	}
}

/* From below the DIE that the cursor came from. is_own: not of functions that were inlined. */
static void collect(struct hunt *h, struct claims *c, struct raw_cursor *at, bool is_own,
		    unsigned depth)
{
	struct raw_die die;

	while (next_child(h, at, &die)) {
		bool is_block = die.tag == DW_TAG_lexical_block;

		if (die.tag == DW_TAG_variable || die.tag == DW_TAG_formal_parameter)
			on_variable(h, c, &die, is_own);
		if (depth && die.has_children && (is_block || die.tag == DW_TAG_inlined_subroutine))
			collect(h, c, at, is_own && is_block, depth - 1);
		else
			skip_below(at, &die);
	}
}

/* ---- functions ---- */

/* A value may have been moved to where it is pinned: what points to it knows better. */
static void add(struct hunt *h, const struct raw_die *die, const struct claims *c)
{
	bool is_argument = h->what == LAYOUT_HUNT_ARGUMENT;
	const struct place *at = is_argument	   ? &c->argument
				 : c->address.kind ? &c->address
						   : &c->value;
	struct layout_pinned p = { .type = is_argument ? c->argument_type : c->type,
				   .frame_by_rbp = h->by_rbp,
				   .frame_bytes = h->frame_bytes,
				   .is_placed = at->kind != NOWHERE && !at->is_doubtful &&
						at->off == (int32_t)at->off,
				   .by_rbp = at->by_rbp,
				   .off = at->off };
	struct raw_ranges r;

	if ((is_argument && !p.is_placed) || !layouts_spend(h->l, 0))
		return;
	if (c->pointer.kind && !c->pointer.is_doubtful && c->pointer.by_rbp == at->by_rbp) {
		p.has_pointer = true;
		p.pointer_off = c->pointer.off;
	}
	raw_ranges_init(&r, &h->l->d->raw, h->unit, die, h->unit_low_pc);
	while (layouts_spend(h->l, 1) && raw_ranges_next(&r)) {
		p.va = r.from;
		p.end_va = r.to;
		if (p.va && p.va < p.end_va)
			vec_push(&h->found, p);
	}
}

/* The cursor stands behind the DIE. */
static void on_function(struct hunt *h, const struct raw_die *die, struct raw_cursor at)
{
	struct claims c = { 0 };

	if (!die->has_children || !is_wanted(h, *die))
		return;
	c.type = layouts_param_of(h->l, die->has_origin ? die->origin_off : die->off, h->param);
	if (c.type == LAYOUT_NONE)
		return;
	if (h->what != LAYOUT_HUNT_CODE)
		collect(h, &c, &at, true, MAX_NESTED);
	add(h, die, &c);
}

static void look_inside(struct hunt *h, struct raw_cursor *at, unsigned depth)
{
	struct raw_die die;

	while (next_child(h, at, &die)) {
		bool is_inlined = die.tag == DW_TAG_inlined_subroutine;

		if (is_inlined)
			on_function(h, &die, *at);
		if (depth && die.has_children && (is_inlined || die.tag == DW_TAG_lexical_block))
			look_inside(h, at, depth - 1);
		else
			skip_below(at, &die);
	}
}

/* The function that begins at va. What the linker made one of several is nobody's. */
static bool find_function(struct hunt *h, uint64_t va, struct raw_cursor *at,
			  struct raw_die *function)
{
	const struct index_entry *e = layout_index_find(&h->l->index, INDEX_FUNCTIONS, va);
	struct raw_cursor c;
	struct raw_die unit;

	if (!e || layout_index_next(&h->l->index, INDEX_FUNCTIONS, e) ||
	    !read_die(h->l, e->value, at, function) || function->tag != DW_TAG_subprogram ||
	    !read_die(h->l, at->unit->die_off, &c, &unit))
		return false;
	h->unit = at->unit;
	h->unit_low_pc = unit.low_pc;
	return true;
}

size_t layouts_pinned(struct layouts *l, uint64_t va, const char *function, const char *param,
		      enum layout_hunt what, struct layout_pinned **out)
{
	struct hunt h = { .l = l, .function = function, .param = param, .what = what };
	struct raw_cursor at;
	struct raw_die die;

	if (find_function(&h, va, &at, &die) &&
	    (what == LAYOUT_HUNT_CODE || read_frame_base(&h, &die))) {
		on_function(&h, &die, at);
		if (what != LAYOUT_HUNT_ARGUMENT && die.has_children)
			look_inside(&h, &at, MAX_NESTED);
	}
	*out = h.found.v;
	return h.found.nr;
}

static bool has_inlined(struct hunt *h, struct raw_cursor *at)
{
	unsigned depth = 1;
	struct raw_die die;
	int what;

	while (depth && layouts_spend(h->l, 1) && (what = raw_next(at, tags, &die)) != 0) {
		if (what == 2) {
			depth--;
			continue;
		}
		if (die.tag == DW_TAG_inlined_subroutine && is_wanted(h, die))
			return true;
		depth += die.has_children;
	}
	return depth > 0; /* it is not known */
}

bool layouts_inlines(struct layouts *l, uint64_t va, const char *function)
{
	struct hunt h = { .l = l, .function = function };
	struct raw_cursor at;
	struct raw_die die;

	return !find_function(&h, va, &at, &die) || (die.has_children && has_inlined(&h, &at));
}
