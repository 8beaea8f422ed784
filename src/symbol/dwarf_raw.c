// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/dwarf_raw.h"

#include <dwarf.h>
#include <string.h>

#include "base/vec.h"

#define MAX_ABBREVS 65536
#define MAX_ATTRS   128

struct spec {
	uint16_t attr, form;
	int64_t implicit;
};

struct abbrev {
	uint32_t tag, first_spec, nr_specs;
	int32_t fixed_bytes; /* of all attributes together, -1 when it varies */
	bool has_children, is_there;
};

struct raw_abbrevs {
	VEC(struct abbrev) by_code; /* index: code - 1; rustc and clang number them densely */
	VEC(struct spec) specs;
};

/* Bytes of a form that has always the same size in units of this kind, else -1. */
static int form_bytes(unsigned form, const struct raw_unit *u)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return u->addr_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return u->offset_bytes;
	case DW_FORM_ref_addr:
		return u->version <= 2 ? u->addr_bytes : u->offset_bytes;
	}
	return -1;
}

static void skip_form(struct raw_bytes *b, const struct raw_unit *u, unsigned form)
{
	int n = form_bytes(form, u);

	if (n >= 0) {
		raw_skip(b, n);
		return;
	}
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		raw_uleb(b);
		break;
	case DW_FORM_string:
		raw_string(b);
		break;
	case DW_FORM_block1:
		raw_skip(b, raw_fixed(b, 1));
		break;
	case DW_FORM_block2:
		raw_skip(b, raw_fixed(b, 2));
		break;
	case DW_FORM_block4:
		raw_skip(b, raw_fixed(b, 4));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		raw_skip(b, raw_uleb(b));
		break;
	default: /* DW_FORM_indirect too: nobody writes it */
		b->broken = true;
	}
}

static bool read_specs(struct raw_abbrevs *a, struct raw_bytes *b, struct abbrev *to)
{
	to->first_spec = a->specs.nr;
	for (;;) {
		struct spec s = { 0 };

		s.attr = raw_uleb(b);
		s.form = raw_uleb(b);
		if (s.form == DW_FORM_implicit_const)
			s.implicit = raw_sleb(b);
		if (b->broken || to->nr_specs > MAX_ATTRS)
			return false;
		if (!s.attr && !s.form)
			return true;
		vec_push(&a->specs, s);
		to->nr_specs++;
	}
}

struct raw_abbrevs *raw_abbrevs_new(const struct raw_file *f, uint64_t abbrev_off)
{
	struct raw_abbrevs *a = xcalloc(1, sizeof(*a));
	struct raw_bytes b = { .data = f->sections[RAW_ABBREV].data,
			       .off = abbrev_off,
			       .end = f->sections[RAW_ABBREV].size_bytes };

	while (b.off < b.end) {
		uint64_t code = raw_uleb(&b);
		struct abbrev ab = { .is_there = true, .fixed_bytes = -2 };

		if (!code || code > MAX_ABBREVS)
			break;
		ab.tag = raw_uleb(&b);
		ab.has_children = raw_fixed(&b, 1);
		if (!read_specs(a, &b, &ab))
			break;
		while (a->by_code.nr < code)
			vec_push(&a->by_code, (struct abbrev){ 0 });
		a->by_code.v[code - 1] = ab;
	}
	return a;
}

void raw_abbrevs_free(struct raw_abbrevs *a)
{
	if (!a)
		return;
	vec_release(&a->by_code);
	vec_release(&a->specs);
	free(a);
}

bool raw_abbrevs_have(const struct raw_abbrevs *a, uint32_t tag)
{
	for (size_t i = 0; i < a->by_code.nr; i++)
		if (a->by_code.v[i].is_there && a->by_code.v[i].tag == tag)
			return true;
	return false;
}

void raw_cursor_init(struct raw_cursor *c, const struct raw_file *f, struct raw_unit *u,
		     const struct raw_abbrevs *a, uint64_t off)
{
	*c = (struct raw_cursor){ .file = f, .unit = u, .abbrevs = a, .off = off };
}

static const char *indexed_string(const struct raw_cursor *c, uint64_t index)
{
	const struct raw_section *s = &c->file->sections[RAW_STR_OFFSETS];
	struct raw_bytes b = { .data = s->data, .end = s->size_bytes };
	uint64_t off;

	if (index > s->size_bytes)
		return NULL;
	raw_skip(&b, c->unit->str_offsets_base + index * c->unit->offset_bytes);
	off = raw_fixed(&b, c->unit->offset_bytes);
	return b.broken ? NULL : raw_string_at(&c->file->sections[RAW_STR], off);
}

static const char *read_string(struct raw_cursor *c, struct raw_bytes *b, unsigned form)
{
	switch (form) {
	case DW_FORM_strp:
		return raw_string_at(&c->file->sections[RAW_STR],
				     raw_fixed(b, c->unit->offset_bytes));
	case DW_FORM_line_strp:
		return raw_string_at(&c->file->sections[RAW_LINE_STR],
				     raw_fixed(b, c->unit->offset_bytes));
	case DW_FORM_strx:
		return indexed_string(c, raw_uleb(b));
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		return indexed_string(c, raw_fixed(b, form_bytes(form, c->unit)));
	case DW_FORM_string:
		return raw_string(b);
	}
	skip_form(b, c->unit, form);
	return NULL;
}

static bool read_address(struct raw_cursor *c, struct raw_bytes *b, unsigned form, uint64_t *va)
{
	const struct raw_section *s = &c->file->sections[RAW_ADDR];
	struct raw_bytes at = { .data = s->data, .end = s->size_bytes };
	uint64_t index;

	if (form == DW_FORM_addr) {
		*va = raw_fixed(b, c->unit->addr_bytes);
		return !b->broken;
	}
	if (form == DW_FORM_addrx)
		index = raw_uleb(b);
	else if (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4)
		index = raw_fixed(b, form_bytes(form, c->unit));
	else {
		skip_form(b, c->unit, form);
		return false;
	}
	if (index > s->size_bytes)
		return false;
	raw_skip(&at, c->unit->addr_base + index * 8);
	*va = raw_fixed(&at, 8);
	return !at.broken;
}

static bool read_ref(struct raw_cursor *c, struct raw_bytes *b, unsigned form, uint64_t *off)
{
	switch (form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
		*off = c->unit->off + raw_fixed(b, form_bytes(form, c->unit));
		return !b->broken;
	case DW_FORM_ref_udata:
		*off = c->unit->off + raw_uleb(b);
		return !b->broken;
	case DW_FORM_ref_addr:
		*off = raw_fixed(b, form_bytes(form, c->unit));
		return !b->broken;
	}
	skip_form(b, c->unit, form);
	return false;
}

static uint64_t read_number(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s)
{
	int n = form_bytes(s->form, c->unit);

	if (s->form == DW_FORM_implicit_const)
		return s->implicit;
	if (s->form == DW_FORM_udata)
		return raw_uleb(b);
	if (s->form == DW_FORM_sdata)
		return raw_sleb(b);
	if (n > 0)
		return raw_fixed(b, n);
	skip_form(b, c->unit, s->form);
	return 0;
}

/* The bytes of a block or expression, behind which b stands afterwards. */
static struct raw_bytes read_block(struct raw_cursor *c, struct raw_bytes *b, unsigned form)
{
	struct raw_bytes block = *b;
	uint64_t len = 0;

	skip_form(b, c->unit, form);
	if (form == DW_FORM_exprloc || form == DW_FORM_block)
		len = raw_uleb(&block);
	else if (form == DW_FORM_block1 || form == DW_FORM_block2 || form == DW_FORM_block4)
		len = raw_fixed(&block, form == DW_FORM_block1	 ? 1
					: form == DW_FORM_block2 ? 2
								 : 4);
	block.end = b->off;
	block.broken = b->broken || !len;
	return block;
}

static bool is_block(unsigned form)
{
	return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 ||
	       form == DW_FORM_block2 || form == DW_FORM_block4;
}

/* A discriminant of 128 bits is a block: its first 64 are taken. */
static uint64_t read_value(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s)
{
	struct raw_bytes block;

	if (!is_block(s->form))
		return read_number(c, b, s);
	block = read_block(c, b, s->form);
	return raw_fixed(&block, MIN(block.end - block.off, 8u));
}

/* A number, or up to DWARF 3 an expression that adds one. */
static uint64_t read_member_off(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s)
{
	struct raw_bytes block;

	if (!is_block(s->form))
		return read_number(c, b, s);
	block = read_block(c, b, s->form);
	return raw_fixed(&block, 1) == DW_OP_plus_uconst ? raw_uleb(&block) : 0;
}

/* Places other than a plain address are left out: nobody here asks for those. */
static bool read_place(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
		       uint64_t *addr)
{
	struct raw_bytes block = { .broken = true };
	unsigned op;

	if (!is_block(s->form)) {
		skip_form(b, c->unit, s->form);
		return false;
	}
	block = read_block(c, b, s->form);
	op = raw_fixed(&block, 1);
	if (op != DW_OP_addr && op != DW_OP_addrx)
		return false;
	return read_address(c, &block, op == DW_OP_addr ? DW_FORM_addr : DW_FORM_addrx, addr) &&
	       block.off == block.end;
}

/* An address, or from DWARF 4 on how far it is from low_pc. */
static void read_high_pc(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
			 struct raw_die *die)
{
	die->is_high_pc_len = s->form != DW_FORM_addr && s->form != DW_FORM_addrx &&
			      !(s->form >= DW_FORM_addrx1 && s->form <= DW_FORM_addrx4);
	if (die->is_high_pc_len)
		die->high_pc = read_number(c, b, s);
	else
		read_address(c, b, s->form, &die->high_pc);
}

/* An offset, or in DWARF 5 the number of one in a table of them. */
static bool read_ranges_off(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
			    uint64_t *off)
{
	const struct raw_section *lists = &c->file->sections[RAW_RNGLISTS];
	struct raw_bytes at = { .data = lists->data, .end = lists->size_bytes };
	uint64_t index;

	if (s->form != DW_FORM_rnglistx) {
		*off = read_number(c, b, s);
		return !b->broken;
	}
	index = raw_uleb(b);
	if (b->broken || index > lists->size_bytes)
		return false;
	raw_skip(&at, c->unit->rnglists_base + index * c->unit->offset_bytes);
	*off = c->unit->rnglists_base + raw_fixed(&at, c->unit->offset_bytes);
	return !at.broken;
}

static void read_unit_attr(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
			   struct raw_die *die)
{
	switch (s->attr) {
	case DW_AT_str_offsets_base: /* the unit's own DIE sets them for all below it */
		c->unit->str_offsets_base = read_number(c, b, s);
		break;
	case DW_AT_addr_base:
		c->unit->addr_base = read_number(c, b, s);
		break;
	case DW_AT_rnglists_base:
		c->unit->rnglists_base = read_number(c, b, s);
		break;
	case DW_AT_loclists_base:
		c->unit->loclists_base = read_number(c, b, s);
		break;
	case DW_AT_stmt_list:
		die->line_off = read_number(c, b, s);
		break;
	case DW_AT_comp_dir:
		die->comp_dir = read_string(c, b, s->form);
		break;
	case DW_AT_language:
		die->language = read_number(c, b, s);
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		die->is_split = true;
		skip_form(b, c->unit, s->form);
		break;
	default:
		skip_form(b, c->unit, s->form);
	}
}

static void read_type_attr(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
			   struct raw_die *die)
{
	switch (s->attr) {
	case DW_AT_data_member_location:
		die->member_off = read_member_off(c, b, s);
		break;
	case DW_AT_discr:
		die->has_discr_member = read_ref(c, b, s->form, &die->discr_off);
		break;
	case DW_AT_containing_type:
		die->has_containing = read_ref(c, b, s->form, &die->containing_off);
		break;
	case DW_AT_declaration:
		die->is_declaration = true;
		skip_form(b, c->unit, s->form);
		break;
	case DW_AT_location:
		die->location = (struct raw_value){ b->off, s->form };
		die->has_addr = read_place(c, b, s, &die->addr);
		break;
	case DW_AT_frame_base:
		die->frame_base = (struct raw_value){ b->off, s->form };
		skip_form(b, c->unit, s->form);
		break;
	case DW_AT_encoding:
		die->encoding = read_number(c, b, s);
		break;
	case DW_AT_const_value:
		die->const_value = read_value(c, b, s);
		break;
	case DW_AT_count:
		die->count = read_number(c, b, s);
		break;
	case DW_AT_upper_bound:
		die->count = is_block(s->form) ? read_value(c, b, s) : read_number(c, b, s) + 1;
		break;
	default:
		read_unit_attr(c, b, s, die);
	}
}

static void read_attr(struct raw_cursor *c, struct raw_bytes *b, const struct spec *s,
		      struct raw_die *die)
{
	switch (s->attr) {
	case DW_AT_name:
		die->name = read_string(c, b, s->form);
		break;
	case DW_AT_linkage_name:
		die->linkage_name = read_string(c, b, s->form);
		break;
	case DW_AT_low_pc:
		die->has_low_pc = read_address(c, b, s->form, &die->low_pc);
		break;
	case DW_AT_high_pc:
		read_high_pc(c, b, s, die);
		break;
	case DW_AT_ranges:
		die->has_ranges = read_ranges_off(c, b, s, &die->ranges_off);
		break;
	case DW_AT_call_file:
		die->call_file = read_number(c, b, s);
		break;
	case DW_AT_call_line:
		die->call_line = read_number(c, b, s);
		break;
	case DW_AT_type:
		die->has_type = read_ref(c, b, s->form, &die->type_off);
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		die->has_origin = read_ref(c, b, s->form, &die->origin_off);
		break;
	case DW_AT_byte_size:
		die->byte_size = read_number(c, b, s);
		die->has_byte_size = true;
		break;
	case DW_AT_alignment:
		die->alignment = read_number(c, b, s);
		break;
	case DW_AT_decl_file:
		die->decl_file = read_number(c, b, s);
		break;
	case DW_AT_decl_line:
		die->decl_line = read_number(c, b, s);
		break;
	case DW_AT_discr_value:
		die->discr_value = read_value(c, b, s);
		die->has_discr = true;
		break;
	default:
		read_type_attr(c, b, s, die);
	}
}

/* Most DIEs that are skipped have attributes of fixed size only: their size is added up once. */
static bool skip_attrs(struct raw_cursor *c, struct raw_bytes *b, struct abbrev *ab)
{
	const struct spec *s = c->abbrevs->specs.v + ab->first_spec;

	if (ab->fixed_bytes == -2) {
		ab->fixed_bytes = 0;
		for (uint32_t i = 0; i < ab->nr_specs; i++) {
			int n = form_bytes(s[i].form, c->unit);

			if (n < 0) {
				ab->fixed_bytes = -1;
				break;
			}
			ab->fixed_bytes += n;
		}
	}
	if (ab->fixed_bytes >= 0)
		raw_skip(b, ab->fixed_bytes);
	else
		for (uint32_t i = 0; i < ab->nr_specs && !b->broken; i++)
			skip_form(b, c->unit, s[i].form);
	return !b->broken;
}

/* The abbreviation of the DIE that b stands at; NULL at the end of a list, or broken. */
static struct abbrev *next_abbrev(struct raw_cursor *c, struct raw_bytes *b)
{
	uint64_t code = raw_uleb(b);

	if (!code)
		return NULL;
	if (code > c->abbrevs->by_code.nr || !c->abbrevs->by_code.v[code - 1].is_there) {
		b->broken = true;
		return NULL;
	}
	return &c->abbrevs->by_code.v[code - 1];
}

int raw_next(struct raw_cursor *c, uint64_t wanted_tags, struct raw_die *die)
{
	struct raw_bytes b = { .data = c->file->sections[RAW_INFO].data,
			       .off = c->off,
			       .end = c->unit->end,
			       .broken = c->broken };
	struct abbrev *ab;

	if (b.off >= b.end || c->broken)
		return 0;
	ab = next_abbrev(c, &b);
	if (ab) {
		die->off = c->off;
		die->tag = ab->tag;
		die->has_children = ab->has_children;
		if (ab->tag < 64 && wanted_tags >> ab->tag & 1) {
			*die = (struct raw_die){ .off = c->off,
						 .tag = ab->tag,
						 .has_children = ab->has_children };
			for (uint32_t i = 0; i < ab->nr_specs && !b.broken; i++)
				read_attr(c, &b, &c->abbrevs->specs.v[ab->first_spec + i], die);
		} else {
			skip_attrs(c, &b, ab);
		}
	}
	c->broken = b.broken;
	c->off = b.off;
	return b.broken ? 0 : ab ? 1 : 2;
}

void raw_skip_children(struct raw_cursor *c)
{
	struct raw_bytes b = { .data = c->file->sections[RAW_INFO].data,
			       .off = c->off,
			       .end = c->unit->end,
			       .broken = c->broken };
	uint64_t depth = 1;

	while (depth && !b.broken && b.off < b.end) {
		struct abbrev *ab = next_abbrev(c, &b);

		if (!ab)
			depth--;
		else if (skip_attrs(c, &b, ab))
			depth += ab->has_children;
	}
	c->broken = b.broken;
	c->off = b.off;
}
