// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One type from its DIE. The variants of an enum are structures below it; their members become the
 * members of the variant.
 */
#include <dwarf.h>
#include <string.h>

#include "symbol/layout_types.h"

static const uint64_t part_tags = TAG(DW_TAG_member) | TAG(DW_TAG_variant_part) |
				  TAG(DW_TAG_variant) | TAG(DW_TAG_enumerator) |
				  TAG(DW_TAG_template_type_parameter) | TAG(DW_TAG_subrange_type);

struct members {
	VEC(struct layout_member) list;
};

struct parts {
	struct layouts *l;
	struct type *type;
	struct raw_cursor c; /* in the type */
	struct members members;
	VEC(struct layout_variant) variants;
	VEC(struct layout_place) places; /* of each variant */
	VEC(struct layout_param) params;
	bool is_coroutine;
};

/*
 * The next child of the DIE that the cursor was in when it began; their own children are passed
 * over, but for those of tags in `enter`: the caller reads them before the next one.
 */
static bool next_child(struct raw_cursor *c, uint64_t enter, struct raw_die *die)
{
	if (raw_next(c, part_tags, die) != 1)
		return false;
	if (die->has_children && !(die->tag < 64 && enter >> die->tag & 1))
		raw_skip_children(c);
	return true;
}

static void add_member(struct layouts *l, struct members *to, const struct raw_die *die,
		       uint64_t base_off)
{
	vec_push(&to->list,
		 (struct layout_member){
			 .name = die->name ? die->name : "",
			 .type = die->has_type ? layouts_number(l, die->type_off) : LAYOUT_NONE,
			 .off = base_off + die->member_off,
		 });
}

static void add_param(struct parts *p, const struct raw_die *die)
{
	if (die->tag == DW_TAG_template_type_parameter && die->has_type)
		vec_push(&p->params,
			 (struct layout_param){ .name = die->name ? die->name : "",
						.type = layouts_number(p->l, die->type_off) });
}

/* The members of the structure that a variant has as its only one. */
static void read_variant_type(struct parts *p, const struct raw_die *member,
			      struct layout_variant *v)
{
	struct members members = { 0 };
	struct raw_cursor c;
	struct raw_die die, child;

	if (!member->has_type || !layouts_spend(p->l, 1) ||
	    !dwarf_cursor(p->l->d, member->type_off, &c) ||
	    raw_next(&c, TAG(DW_TAG_structure_type), &die) != 1)
		return;
	if (die.tag != DW_TAG_structure_type) {
		add_member(p->l, &members, member, 0);
	} else {
		v->name = die.name ? die.name : v->name;
		while (die.has_children && next_child(&c, 0, &child))
			if (child.tag == DW_TAG_member)
				add_member(p->l, &members, &child, member->member_off);
			else if (!p->variants.nr) /* each variant has those of the enum */
				add_param(p, &child);
		layouts_spend(p->l, c.off - member->type_off);
	}
	v->members = members.list.v;
	v->nr_members = members.list.nr;
}

static void read_variant(struct parts *p, const struct raw_die *variant)
{
	struct layout_variant v = { .name = "",
				    .value = variant->discr_value,
				    .is_default = !variant->has_discr,
				    .awaitee = -1,
				    .file = "" };
	struct layout_place place = { .file = "" };
	struct raw_die die;

	while (variant->has_children && next_child(&p->c, 0, &die)) {
		if (die.tag != DW_TAG_member || v.members)
			continue;
		v.name = die.name ? die.name : "";
		read_variant_type(p, &die, &v);
		place.line = die.decl_line;
		if (die.decl_line)
			place.file = layouts_file(p->l, p->c.unit, die.decl_file);
	}
	vec_push(&p->variants, v);
	vec_push(&p->places, place);
}

static void read_discriminant(struct parts *p, uint64_t off)
{
	struct layout *t = &p->type->layout;
	struct raw_cursor c;
	struct raw_die die;

	if (!dwarf_cursor(p->l->d, off, &c) || raw_next(&c, part_tags, &die) != 1 ||
	    die.tag != DW_TAG_member || !die.has_type)
		return;
	t->discr_off = die.member_off;
	t->discr_bytes = layouts_get(p->l, layouts_number(p->l, die.type_off))->size_bytes;
	p->is_coroutine = die.name && strcmp(die.name, "__state") == 0;
}

static void read_variant_part(struct parts *p, const struct raw_die *part)
{
	struct raw_die die;

	p->type->layout.kind = LAYOUT_ENUM;
	if (part->has_discr_member)
		read_discriminant(p, part->discr_off);
	while (part->has_children && next_child(&p->c, TAG(DW_TAG_variant), &die))
		if (die.tag == DW_TAG_variant)
			read_variant(p, &die);
}

static void read_structure(struct parts *p)
{
	struct raw_die die;

	p->type->layout.kind = LAYOUT_STRUCT;
	while (next_child(&p->c, TAG(DW_TAG_variant_part), &die)) {
		if (die.tag == DW_TAG_member)
			add_member(p->l, &p->members, &die, 0);
		else if (die.tag == DW_TAG_variant_part)
			read_variant_part(p, &die);
		else
			add_param(p, &die);
	}
}

static void read_enumeration(struct parts *p)
{
	struct layout *t = &p->type->layout;
	struct raw_die die;

	t->kind = LAYOUT_ENUM;
	t->discr_bytes = t->size_bytes;
	while (next_child(&p->c, 0, &die)) {
		if (die.tag != DW_TAG_enumerator)
			continue;
		vec_push(&p->variants, (struct layout_variant){ .name = die.name ? die.name : "",
								.value = die.const_value,
								.awaitee = -1,
								.file = "" });
		vec_push(&p->places, (struct layout_place){ .file = "" });
	}
}

/* Of the bits that a discriminant has, the debug info may tell more: those of a sign. */
static void cut_values(struct layout *t, struct layout_variant *variants, size_t nr)
{
	uint64_t mask = t->discr_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * t->discr_bytes) - 1;

	for (size_t i = 0; i < nr; i++)
		variants[i].value &= mask;
}

/* `!`, Infallible, and what holds one of them: no value of it can be. */
static bool can_be(struct layouts *l, uint32_t type, unsigned level)
{
	const struct layout *t = layouts_get(l, type);

	if (strcmp(t->name, "!") == 0 || (t->kind == LAYOUT_ENUM && !t->nr_variants))
		return false;
	for (uint32_t i = 0; t->kind == LAYOUT_STRUCT && level && i < t->nr_members; i++)
		if (!can_be(l, t->members[i].type, level - 1))
			return false;
	return true;
}

/*
 * `Result<T, Infallible>` has two variants and nothing that tells them apart, as the second can
 * never be: it is left out.
 */
static void drop_impossible(struct parts *p)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < p->variants.nr; i++) {
		struct layout_variant *v = &p->variants.v[i];
		uint32_t m = 0;

		while (m < v->nr_members && can_be(p->l, v->members[m].type, 4))
			m++;
		if (m < v->nr_members) {
			free((void *)v->members);
			continue;
		}
		p->places.v[nr_kept] = p->places.v[i];
		p->variants.v[nr_kept++] = *v;
	}
	p->variants.nr = p->places.nr = nr_kept;
}

static void read_array(struct layouts *l, struct layout *t, const struct raw_die *array,
		       struct raw_cursor *c)
{
	struct raw_die die;

	t->kind = LAYOUT_ARRAY;
	t->target = array->has_type ? layouts_number(l, array->type_off) : LAYOUT_NONE;
	while (array->has_children && next_child(c, 0, &die))
		if (die.tag == DW_TAG_subrange_type)
			t->nr_elements = die.count;
	t->size_bytes = layouts_get(l, t->target)->size_bytes;
	if (__builtin_mul_overflow(t->size_bytes, t->nr_elements, &t->size_bytes))
		t->size_bytes = t->nr_elements = 0;
}

static void read_number(struct layout *t, const struct raw_die *die)
{
	static const enum layout_number numbers[] = {
		[DW_ATE_boolean] = LAYOUT_BOOL,	     [DW_ATE_float] = LAYOUT_FLOAT,
		[DW_ATE_signed] = LAYOUT_SIGNED,     [DW_ATE_signed_char] = LAYOUT_SIGNED,
		[DW_ATE_unsigned] = LAYOUT_UNSIGNED, [DW_ATE_unsigned_char] = LAYOUT_UNSIGNED,
		[DW_ATE_UTF] = LAYOUT_CHAR,
	};

	/* `()` and `!` are called base types too. */
	t->kind = die->byte_size ? LAYOUT_NUMBER : LAYOUT_STRUCT;
	t->number = die->encoding < ARRAY_SIZE(numbers) ? numbers[die->encoding] : LAYOUT_UNSIGNED;
}

static void read_parts(struct parts *p, const struct raw_die *die)
{
	struct layout *t = &p->type->layout;

	if (die->tag == DW_TAG_enumeration_type)
		read_enumeration(p);
	else
		read_structure(p);
	p->l->d->raw.nr_broken += p->c.broken;
	cut_values(t, p->variants.v, p->variants.nr);
	if (die->tag != DW_TAG_enumeration_type && p->variants.nr > 1 && !t->discr_bytes)
		drop_impossible(p);
	if (p->is_coroutine)
		layout_read_coroutine(
			p->l, p->type,
			&(struct layout_awaits){ p->variants.v, p->places.v, p->variants.nr });
	layouts_spend(p->l, p->c.off - p->type->off);
	t->members = p->members.list.v;
	t->nr_members = p->members.list.nr;
	t->variants = p->variants.v;
	t->nr_variants = p->variants.nr;
	t->params = p->params.v;
	t->nr_params = p->params.nr;
	vec_release(&p->places);
}

void layout_read(struct layouts *l, struct type *type)
{
	const uint64_t tags = TAG(DW_TAG_structure_type) | TAG(DW_TAG_union_type) |
			      TAG(DW_TAG_enumeration_type) | TAG(DW_TAG_base_type) |
			      TAG(DW_TAG_pointer_type) | TAG(DW_TAG_array_type);
	struct parts p = { .l = l, .type = type };
	struct layout *t = &type->layout;
	struct raw_die die;

	if (!dwarf_cursor(l->d, type->off, &p.c) || raw_next(&p.c, tags, &die) != 1)
		return;
	switch (die.tag) {
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		if (die.has_children)
			read_parts(&p, &die);
		else if (!die.is_declaration)
			t->kind = LAYOUT_STRUCT;
		break;
	case DW_TAG_base_type:
		read_number(t, &die);
		break;
	case DW_TAG_pointer_type:
		t->kind = LAYOUT_POINTER;
		t->size_bytes = p.c.unit->addr_bytes;
		t->target = die.has_type ? layouts_number(l, die.type_off) : LAYOUT_NONE;
		break;
	case DW_TAG_array_type:
		read_array(l, t, &die, &p.c);
		break;
	}
}

uint64_t layout_shape(struct layouts *l, struct raw_cursor *c)
{
	uint64_t shape = LAYOUT_HASH_START;
	unsigned depth = 1;
	struct raw_die die;
	int what;

	while (depth) {
		what = raw_next(c, part_tags, &die);
		if (what == 0)
			break;
		if (what == 2) {
			depth--;
			continue;
		}
		if (die.tag == DW_TAG_subprogram && die.has_children) {
			raw_skip_children(c); /* methods: each unit has those that it calls */
			continue;
		}
		if (die.tag == DW_TAG_template_type_parameter && die.has_type)
			shape = map_hash(shape ^ layouts_number(l, die.type_off));
		depth += die.has_children;
		if (die.tag != DW_TAG_member && die.tag != DW_TAG_enumerator &&
		    die.tag != DW_TAG_variant)
			continue;
		shape = map_hash(shape ^ die.member_off ^ die.discr_value << 16 ^
				 die.const_value << 32 ^ die.decl_line << 40);
		if (die.name)
			shape = layout_hash(shape, die.name, strlen(die.name));
	}
	return shape;
}
