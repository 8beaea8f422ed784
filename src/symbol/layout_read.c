// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * One type from its DIE. The variants of an enum are structures below it; their members become the
 * members of the variant.
 */
#include <dwarf.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/layout_types.h"

#define TAG(t)	   (UINT64_C(1) << (t))
#define MAX_BODIES 256 /* copies of one coroutine's code */
#define CODE_BYTES 64  /* of a function's DIE */

static const uint64_t part_tags = TAG(DW_TAG_member) | TAG(DW_TAG_variant_part) |
				  TAG(DW_TAG_variant) | TAG(DW_TAG_enumerator) |
				  TAG(DW_TAG_template_type_parameter) | TAG(DW_TAG_subrange_type);

struct members {
	VEC(struct layout_member) list;
};

/* Where the line of a variant is, before it is known whether a macro wrote it. */
struct place {
	const char *file;
	uint64_t line;
};

struct parts {
	struct layouts *l;
	struct type *type;
	struct raw_cursor c; /* in the type */
	struct members members;
	VEC(struct layout_variant) variants;
	VEC(struct place) places; /* of each variant */
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
	struct place place = { .file = "" };
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
		else if (die.tag == DW_TAG_template_type_parameter && die.has_type)
			vec_push(&p->params, (struct layout_param){
						     .name = die.name ? die.name : "",
						     .type = layouts_number(p->l, die.type_off) });
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
		vec_push(&p->places, (struct place){ .file = "" });
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

static size_t find_variant(const struct parts *p, const char *name)
{
	for (size_t i = 0; i < p->variants.nr; i++)
		if (strcmp(p->variants.v[i].name, name) == 0)
			return i;
	return p->variants.nr;
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
		    m->type != captures->members[i].type)
			return v->nr_members;
	}
	return v->nr_members - nr;
}

static bool is_in_body(const struct layout *t, const struct place *at)
{
	return at->line >= t->first_line && at->line <= t->last_line &&
	       strcmp(at->file, t->file) == 0;
}

/*
 * A body that a macro wrote, such as that of #[tokio::main], has the line of the macro, but its
 * await points have theirs: below, as a macro must be written before it is used.
 */
static uint32_t last_line(const struct parts *p, uint32_t first)
{
	uint32_t last = first;

	for (size_t i = 0; i < p->places.nr; i++)
		if (strcmp(p->places.v[i].file, p->type->layout.file) == 0)
			last = MAX(last, p->places.v[i].line);
	return last;
}

/*
 * An await that a macro wrote has the line of that macro. Await points are in the order of the
 * source, so it is between the nearest two that are in the body itself.
 */
static void narrow(const struct parts *p, size_t i, struct layout_variant *v)
{
	const struct layout *t = &p->type->layout;
	uint64_t from = t->first_line, to = t->last_line;

	for (size_t k = i; k-- > 0;)
		if (str_has_prefix(p->variants.v[k].name, "Suspend") &&
		    is_in_body(t, &p->places.v[k])) {
			from = p->places.v[k].line;
			break;
		}
	for (size_t k = i + 1; k < p->variants.nr; k++)
		if (is_in_body(t, &p->places.v[k])) {
			to = p->places.v[k].line;
			break;
		}
	v->file = t->file;
	v->line = from <= to ? from : t->first_line;
	v->last_line = from <= to ? to : t->last_line;
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
static bool read_code(struct layouts *l, uint64_t off, const struct layout *t, struct code *code)
{
	*code = (struct code){ 0 };
	for (unsigned hops = 0; hops < 4; hops++) {
		struct raw_cursor c;
		struct raw_die die;

		if (!layouts_spend(l, CODE_BYTES) || !dwarf_cursor(l->d, off, &c) ||
		    raw_next(&c, TAG(DW_TAG_subprogram), &die) != 1 || die.tag != DW_TAG_subprogram)
			return false;
		if (die.has_low_pc && !code->va)
			code->va = die.low_pc;
		if (die.linkage_name)
			code->linkage_name = die.linkage_name;
		if (die.name)
			return die.decl_line == t->first_line &&
			       strcmp(layouts_file(l, c.unit, die.decl_file), t->file) == 0;
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
static void read_function(struct layouts *l, struct type *type)
{
	struct layout *t = &type->layout;
	const char *linkage_name = NULL;
	struct vas vas = { 0 };
	char *path, *name;

	for (const struct index_entry *e =
		     layout_index_find(&l->index, INDEX_BODIES, type->name_hash);
	     e; e = layout_index_next(&l->index, INDEX_BODIES, e)) {
		struct code code;

		if (!read_code(l, e->value, t, &code))
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

static void read_coroutine(struct parts *p)
{
	struct layout *t = &p->type->layout;
	size_t first = find_variant(p, "Unresumed"), last = find_variant(p, "Returned");

	t->kind = LAYOUT_COROUTINE;
	if (first < p->places.nr) {
		t->file = p->places.v[first].file;
		t->first_line = p->places.v[first].line;
		t->last_line = last < p->places.nr ? p->places.v[last].line : 0;
		if (t->last_line <= t->first_line)
			t->last_line = last_line(p, t->first_line);
	}
	for (size_t i = 0; i < p->variants.nr; i++) {
		struct layout_variant *v = &p->variants.v[i];

		for (uint32_t m = 0; m < v->nr_members && v->awaitee < 0; m++)
			if (strcmp(v->members[m].name, "__awaitee") == 0)
				v->awaitee = m;
		v->nr_saved = first < p->variants.nr ? count_saved(v, &p->variants.v[first])
						     : v->nr_members;
		v->file = p->places.v[i].file;
		v->line = p->places.v[i].line;
		if (str_has_prefix(v->name, "Suspend") && t->file && *t->file &&
		    !is_in_body(t, &p->places.v[i]))
			narrow(p, i, v);
	}
	read_function(p->l, p->type);
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
		read_coroutine(p);
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

uint64_t layout_shape(struct raw_cursor *c)
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
