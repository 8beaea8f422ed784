// SPDX-License-Identifier: MIT OR Apache-2.0
/* The line table of a unit, DWARF 2 to 5: its file names, and the lines of addresses. */
#include <dwarf.h>
#include <string.h>

#include "symbol/dwarf_raw.h"

#define MAX_FORMATS 16

struct line_header {
	struct raw_bytes b; /* stands at the directories */
	uint64_t program_off;
	uint8_t version, offset_bytes;
	uint8_t min_bytes, line_range, opcode_base;
	int8_t line_base;
	uint8_t nr_operands[256]; /* of standard opcodes */
};

static bool read_header(const struct raw_file *f, uint64_t off, struct line_header *h)
{
	const struct raw_section *s = &f->sections[RAW_LINE];
	uint64_t len;

	*h = (struct line_header){ .b = { .data = s->data, .off = off, .end = s->size_bytes },
				   .offset_bytes = 4 };
	if (off >= s->size_bytes)
		return false;
	len = raw_fixed(&h->b, 4);
	if (len == 0xffffffff) {
		h->offset_bytes = 8;
		len = raw_fixed(&h->b, 8);
	}
	if (h->b.broken || len > h->b.end - h->b.off)
		return false;
	h->b.end = h->b.off + len;
	h->version = raw_fixed(&h->b, 2);
	if (h->version >= 5)
		raw_skip(&h->b, 2); /* sizes of addresses and of segment selectors */
	len = raw_fixed(&h->b, h->offset_bytes);
	if (h->b.broken || len > h->b.end - h->b.off)
		return false;
	h->program_off = h->b.off + len;
	h->min_bytes = raw_fixed(&h->b, 1);
	raw_skip(&h->b, h->version >= 4 ? 2 : 1); /* for VLIW machines; is_stmt */
	h->line_base = raw_fixed(&h->b, 1);
	h->line_range = raw_fixed(&h->b, 1);
	h->opcode_base = raw_fixed(&h->b, 1);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->nr_operands[i] = raw_fixed(&h->b, 1);
	return !h->b.broken && h->version >= 2 && h->version <= 5;
}

static char *join(const char *folder, const char *name)
{
	if (!name)
		return NULL;
	return folder && *folder && name[0] != '/' ? xasprintf("%s/%s", folder, name)
						   : xstrdup(name);
}

/*
 * Up to DWARF 4: strings that end with an empty one; both lists count from 1, folder 0 is the
 * unit's own.
 */
static char *old_file(struct line_header *h, uint64_t index)
{
	uint64_t dirs_off = h->b.off, dir = 0;
	const char *name, *folder = NULL;

	while ((name = raw_string(&h->b)) && *name)
		;
	for (uint64_t i = 1; (name = raw_string(&h->b)) && *name; i++) {
		dir = raw_uleb(&h->b);
		raw_uleb(&h->b); /* time */
		raw_uleb(&h->b); /* size */
		if (i == index)
			break;
	}
	if (!name || !*name || h->b.broken)
		return NULL;
	h->b.off = dirs_off;
	for (uint64_t i = 1; i <= dir; i++) {
		folder = raw_string(&h->b);
		if (!folder || !*folder)
			return NULL;
	}
	return join(folder, name);
}

struct format {
	uint64_t content, form;
};

static size_t read_formats(struct raw_bytes *b, struct format *formats)
{
	size_t nr = raw_fixed(b, 1);

	if (nr > MAX_FORMATS)
		b->broken = true;
	for (size_t i = 0; i < nr && !b->broken; i++) {
		formats[i].content = raw_uleb(b);
		formats[i].form = raw_uleb(b);
	}
	return b->broken ? 0 : nr;
}

/* One value of an entry: a string, or a number in *number. */
static const char *read_value(const struct raw_file *f, struct line_header *h, uint64_t form,
			      uint64_t *number)
{
	switch (form) {
	case DW_FORM_string:
		return raw_string(&h->b);
	case DW_FORM_line_strp:
		return raw_string_at(&f->sections[RAW_LINE_STR], raw_fixed(&h->b, h->offset_bytes));
	case DW_FORM_strp:
		return raw_string_at(&f->sections[RAW_STR], raw_fixed(&h->b, h->offset_bytes));
	case DW_FORM_udata:
		*number = raw_uleb(&h->b);
		break;
	case DW_FORM_data1:
		*number = raw_fixed(&h->b, 1);
		break;
	case DW_FORM_data2:
		*number = raw_fixed(&h->b, 2);
		break;
	case DW_FORM_data4:
		*number = raw_fixed(&h->b, 4);
		break;
	case DW_FORM_data8:
		*number = raw_fixed(&h->b, 8);
		break;
	case DW_FORM_data16: /* MD5 */
		raw_skip(&h->b, 16);
		break;
	case DW_FORM_block:
		raw_skip(&h->b, raw_uleb(&h->b));
		break;
	default:
		h->b.broken = true;
	}
	return NULL;
}

/* Reads a whole list of DWARF 5, and keeps entry `index`. */
static void read_list(const struct raw_file *f, struct line_header *h, uint64_t index,
		      const char **path, uint64_t *dir)
{
	struct format formats[MAX_FORMATS];
	size_t nr_formats = read_formats(&h->b, formats);
	uint64_t nr = raw_uleb(&h->b);

	if (!nr_formats)
		return;
	for (uint64_t i = 0; i < nr && !h->b.broken; i++)
		for (size_t k = 0; k < nr_formats; k++) {
			uint64_t number = 0;
			const char *s = read_value(f, h, formats[k].form, &number);

			if (i == index && formats[k].content == DW_LNCT_path)
				*path = s;
			if (i == index && formats[k].content == DW_LNCT_directory_index)
				*dir = number;
		}
}

static char *new_file(const struct raw_file *f, struct line_header *h, uint64_t index)
{
	struct line_header again = *h;
	const char *name = NULL, *folder = NULL, *ignored = NULL;
	uint64_t dir = 0, none;

	read_list(f, h, UINT64_MAX, &ignored, &none);
	read_list(f, h, index, &name, &dir);
	if (h->b.broken || !name)
		return NULL;
	read_list(f, &again, dir, &folder, &none);
	return join(folder, name);
}

char *raw_line_file(const struct raw_file *f, uint64_t line_off, uint64_t index)
{
	struct line_header h;

	if (!f->sections[RAW_LINE].data || !read_header(f, line_off, &h))
		return NULL;
	return h.version >= 5 ? new_file(f, &h, index) : old_file(&h, index);
}

/* ---- the program: rows of addresses and lines ---- */

struct machine {
	uint64_t va, file, line;
	bool has_row; /* row is the latest of this sequence */
	struct raw_row row;
	struct raw_row *rows;
	size_t nr;
};

/* A row holds up to the next one. */
static void emit(struct machine *m, bool is_end)
{
	size_t at = m->has_row ? partition_point(i, m->nr, m->rows[i].va < m->row.va) : m->nr;

	for (; at < m->nr && m->rows[at].va < m->va; at++)
		if (!m->rows[at].line) {
			m->rows[at].file = m->row.file;
			m->rows[at].line = m->row.line;
		}
	/* the linker leaves what it threw away at address 0 */
	m->has_row = !is_end && m->va;
	m->row = (struct raw_row){ m->va, m->file, m->line };
	if (is_end) {
		m->va = 0;
		m->file = m->line = 1;
	}
}

static int64_t take_sleb(struct raw_bytes *b)
{
	uint64_t from = b->off, value = raw_uleb(b), bits = (b->off - from) * 7;

	return !b->broken && bits < 64 && b->data[b->off - 1] & 0x40
		       ? value | -(UINT64_C(1) << bits)
		       : value;
}

static void extended(struct machine *m, struct raw_bytes *b)
{
	uint64_t len = raw_uleb(b), next = b->off + len;
	uint8_t op;

	if (b->broken || !len || len > b->end - b->off) {
		b->broken = true;
		return;
	}
	op = raw_fixed(b, 1);
	if (op == DW_LNE_end_sequence)
		emit(m, true);
	else if (op == DW_LNE_set_address && len == 9)
		m->va = raw_fixed(b, 8);
	b->off = next;
}

static void standard(struct machine *m, struct raw_bytes *b, const struct line_header *h,
		     uint8_t op)
{
	switch (op) {
	case DW_LNS_copy:
		emit(m, false);
		break;
	case DW_LNS_advance_pc:
		m->va += raw_uleb(b) * h->min_bytes;
		break;
	case DW_LNS_advance_line:
		m->line += take_sleb(b);
		break;
	case DW_LNS_set_file:
		m->file = raw_uleb(b);
		break;
	case DW_LNS_const_add_pc:
		m->va += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_bytes;
		break;
	case DW_LNS_fixed_advance_pc:
		m->va += raw_fixed(b, 2);
		break;
	default:
		for (unsigned i = 0; i < h->nr_operands[op]; i++)
			raw_uleb(b);
	}
}

void raw_line_rows(const struct raw_file *f, uint64_t line_off, struct raw_row *rows, size_t nr)
{
	struct machine m = { .file = 1, .line = 1, .rows = rows, .nr = nr };
	struct line_header h;

	if (!f->sections[RAW_LINE].data || !read_header(f, line_off, &h) || !h.line_range ||
	    !h.opcode_base)
		return;
	h.b.off = h.program_off;
	while (!h.b.broken && h.b.off < h.b.end) {
		uint8_t op = raw_fixed(&h.b, 1);

		if (op >= h.opcode_base) {
			m.va += (uint64_t)((op - h.opcode_base) / h.line_range) * h.min_bytes;
			m.line += h.line_base + (op - h.opcode_base) % h.line_range;
			emit(&m, false);
		} else if (op == 0) {
			extended(&m, &h.b);
		} else {
			standard(&m, &h.b, &h, op);
		}
	}
}
