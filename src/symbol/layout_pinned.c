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
#include <elfutils/libdw.h>
#include <string.h>

#include "symbol/layout_types.h"

#define MAX_NESTED_DIES 200
#define MAX_DIES	(1u << 18) /* of one function */
#define REG_RBP		6
#define REG_RSP		7

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
	bool is_argument; /* it is asked for, instead of what is pinned */
	bool by_rbp;	  /* where the function's frame is counted from */
	unsigned nr_dies;
	VEC(struct layout_pinned) found;
};

/* ---- expressions ---- */

static struct place place_of(const struct hunt *h, const Dwarf_Op *ops, size_t nr)
{
	struct place p = { .kind = MEMORY, .by_rbp = h->by_rbp };

	if (!nr || nr > 2)
		return (struct place){ 0 };
	if (nr == 2 && ops[1].atom != DW_OP_stack_value)
		return (struct place){ 0 };
	if (nr == 2)
		p.kind = ADDRESS;
	p.off = (int64_t)ops[0].number;
	if (ops[0].atom == DW_OP_breg0 + REG_RSP || ops[0].atom == DW_OP_breg0 + REG_RBP)
		p.by_rbp = ops[0].atom == DW_OP_breg0 + REG_RBP;
	else if (ops[0].atom != DW_OP_fbreg)
		return (struct place){ 0 };
	return p;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->kind == b->kind && a->by_rbp == b->by_rbp && a->off == b->off;
}

/* Nowhere, unless it is the same wherever it is known. Memory may be used for something else where
 * the variable is not. */
static struct place place_of_die(const struct hunt *h, Dwarf_Die *die)
{
	struct place all = { 0 };
	Dwarf_Addr base, from, to;
	Dwarf_Attribute attr;
	ptrdiff_t at = 0;
	size_t nr;
	Dwarf_Op *ops;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return all;
	for (unsigned i = 0; (at = dwarf_getlocations(&attr, at, &base, &from, &to, &ops, &nr)) > 0;
	     i++) {
		struct place p = place_of(h, ops, nr);
		bool is_everywhere = !from && to == (Dwarf_Addr)-1;

		if (p.kind == NOWHERE || (p.kind == MEMORY && !is_everywhere) ||
		    (i && !same_place(&all, &p)))
			return (struct place){ 0 };
		all = p;
	}
	return at < 0 ? (struct place){ 0 } : all;
}

static bool frame_is_by_rbp(Dwarf_Die *function, bool *by_rbp)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation(&attr, &ops, &nr) != 0 || nr != 1)
		return false;
	*by_rbp = ops[0].atom == DW_OP_reg0 + REG_RBP;
	return *by_rbp || ops[0].atom == DW_OP_reg0 + REG_RSP;
}

/* ---- variables ---- */

static uint32_t type_of_die(struct layouts *l, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		return LAYOUT_NONE;
	return layouts_number(l, dwarf_dieoffset(&type));
}

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

static void on_variable(struct hunt *h, struct claims *c, Dwarf_Die *die, bool is_own)
{
	uint32_t type = type_of_die(h->l, die);
	bool is_variable = dwarf_tag(die) == DW_TAG_variable, is_it = type == c->type;
	struct place p;

	if (type == LAYOUT_NONE || (!is_it && !points_to(h->l, type, c->type)))
		return;
	p = place_of_die(h, die);
	if (!is_it && p.kind == ADDRESS)
		claim(&c->address, &p);
	else if (is_own && is_variable && p.kind == MEMORY)
		claim(is_it ? &c->value : &c->pointer, &p);
	else if (is_own && !is_it && p.kind == MEMORY) {
		claim(&c->argument, &p);
		c->argument_type = type;
	}
}

/* is_own: not of functions that were inlined there. */
static void collect(struct hunt *h, struct claims *c, Dwarf_Die *parent, bool is_own,
		    unsigned depth)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (++h->nr_dies > MAX_DIES)
			return;
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			on_variable(h, c, &die, is_own);
		else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
			collect(h, c, &die, is_own && tag == DW_TAG_lexical_block, depth - 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* ---- functions ---- */

/* A value may have been moved to where it is pinned: what points to it knows better. */
static void add(struct hunt *h, Dwarf_Die *die, const struct claims *c)
{
	const struct place *at = h->is_argument	   ? &c->argument
				 : c->address.kind ? &c->address
						   : &c->value;
	struct layout_pinned p = { .type = h->is_argument ? c->argument_type : c->type,
				   .by_rbp = at->by_rbp,
				   .off = at->off };
	ptrdiff_t next = 0;
	Dwarf_Addr base;

	if (at->is_doubtful || at->kind == NOWHERE || at->off != p.off || h->nr_dies > MAX_DIES)
		return;
	if (c->pointer.kind && !c->pointer.is_doubtful && c->pointer.by_rbp == at->by_rbp) {
		p.has_pointer = true;
		p.pointer_off = c->pointer.off;
	}
	while ((next = dwarf_ranges(die, next, &base, &p.va, &p.end_va)) > 0)
		if (p.va && p.va < p.end_va)
			vec_push(&h->found, p);
}

static bool is_wanted(const struct hunt *h, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attr)
				   ? dwarf_formstring(&attr)
				   : NULL;

	return name && strstr(name, h->function);
}

static void on_function(struct hunt *h, Dwarf_Die *die)
{
	struct claims c = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Die named = *die;

	if (!is_wanted(h, die))
		return;
	if (dwarf_attr(die, DW_AT_abstract_origin, &attr) && !dwarf_formref_die(&attr, &named))
		return;
	c.type = layouts_param_of(h->l, dwarf_dieoffset(&named), h->param);
	if (c.type == LAYOUT_NONE)
		return;
	collect(h, &c, die, true, MAX_NESTED_DIES);
	add(h, die, &c);
}

static void look_inside(struct hunt *h, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (++h->nr_dies > MAX_DIES)
			return;
		if (tag == DW_TAG_inlined_subroutine)
			on_function(h, &die);
		if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
			look_inside(h, &die, depth - 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* The function that begins at va. What the linker made one of several is nobody's. */
static bool find_function(struct layouts *l, uint64_t va, Dwarf_Die *function)
{
	const struct index_entry *e = layout_index_find(&l->index, INDEX_FUNCTIONS, va);
	struct Dwarf *libdw = dwarf_libdw(l->d);
	Dwarf_Die unit, *scopes = NULL;
	Dwarf_Addr low = 0;
	int nr;

	if (!libdw)
		return false;
	if (e)
		return !layout_index_next(&l->index, INDEX_FUNCTIONS, e) &&
		       dwarf_offdie(libdw, e->value, function) &&
		       dwarf_tag(function) == DW_TAG_subprogram;
	/* those without type arguments are not in the index */
	nr = dwarf_addrdie(libdw, va, &unit) ? dwarf_getscopes(&unit, va, &scopes) : 0;
	for (int i = 0; i < nr && !low; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram &&
		    dwarf_lowpc(&scopes[i], &low) == 0)
			*function = scopes[i];
	free(scopes);
	return low == va;
}

size_t layouts_pinned(struct layouts *l, uint64_t va, const char *function, const char *param,
		      bool is_argument, struct layout_pinned **out)
{
	struct hunt h = {
		.l = l, .function = function, .param = param, .is_argument = is_argument
	};
	Dwarf_Die die;

	if (find_function(l, va, &die) && frame_is_by_rbp(&die, &h.by_rbp)) {
		on_function(&h, &die);
		if (!is_argument)
			look_inside(&h, &die, MAX_NESTED_DIES);
	}
	*out = h.found.v;
	return h.found.nr;
}

static bool has_inlined(struct hunt *h, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (!depth)
		return true;
	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (++h->nr_dies > MAX_DIES ||
		    (tag == DW_TAG_inlined_subroutine && is_wanted(h, &die)))
			return true;
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    has_inlined(h, &die, depth - 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool layouts_inlines(struct layouts *l, uint64_t va, const char *function)
{
	struct hunt h = { .l = l, .function = function };
	Dwarf_Die die;

	return !find_function(l, va, &die) || has_inlined(&h, &die, MAX_NESTED_DIES);
}
