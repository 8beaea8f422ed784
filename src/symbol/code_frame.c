// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How deep the stack of a function is. What it must not do if a frame of ours is to come between it
 * and its caller: find arguments on the stack. And what it must not do if its beginning is to move:
 * jump there by a table.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code.h"
#include "symbol/code_decode.h"

#define DWARF_RBP   6
#define DWARF_RSP   7
#define MAX_ENTRIES 65536

struct code_frames {
	Elf *elf;
	Dwarf_CFI *cfi;
};

struct code_frames *code_frames_new(const struct image *img)
{
	struct code_frames *f = xcalloc(1, sizeof(*f));

	elf_version(EV_CURRENT);
	f->elf = elf_memory((char *)img->data, img->size_bytes);
	f->cfi = f->elf ? dwarf_getcfi_elf(f->elf) : NULL;
	if (f->cfi)
		return f;
	code_frames_free(f);
	return NULL;
}

void code_frames_free(struct code_frames *f)
{
	if (!f)
		return;
	if (f->cfi)
		dwarf_cfi_end(f->cfi);
	elf_end(f->elf);
	free(f);
}

/* From `from` on the function's arguments begin at off from a register. */
struct row {
	uint64_t from, to;
	ZydisRegister base;
	int64_t off;
};

static bool read_row(const struct code_frames *f, uint64_t va, struct row *row)
{
	Dwarf_Addr from, to;
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t nr_ops;
	bool is_known = false;

	if (dwarf_cfi_addrframe(f->cfi, va, &frame) != 0)
		return false;
	if (dwarf_frame_info(frame, &from, &to, NULL) >= 0 && to > va &&
	    dwarf_frame_cfa(frame, &ops, &nr_ops) == 0 && nr_ops == 1 &&
	    ops[0].atom == DW_OP_bregx &&
	    (ops[0].number == DWARF_RSP || ops[0].number == DWARF_RBP)) {
		bool is_rsp = ops[0].number == DWARF_RSP;

		*row = (struct row){ va, to, is_rsp ? ZYDIS_REGISTER_RSP : ZYDIS_REGISTER_RBP,
				     (int64_t)ops[0].number2 };
		is_known = true;
	}
	free(frame);
	return is_known;
}

static bool reaches_arguments(const struct instruction *i, const struct row *row)
{
	for (unsigned k = 0; k < i->in.operand_count; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == row->base &&
		    o->mem.disp.value >= row->off)
			return true;
	}
	return false;
}

bool code_takes_stack(const struct code_frames *f, const struct image *img, uint64_t va,
		      uint64_t nr_bytes)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	struct row row = { 0 };
	struct instruction i;

	if (!f || !code)
		return true;
	for (uint64_t at = 0; at < nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return true;
		if ((va + at < row.from || va + at >= row.to) && !read_row(f, va + at, &row))
			return true;
		if (reaches_arguments(&i, &row))
			return true;
	}
	return false;
}

bool code_keeps_depth(const struct code_frames *f, const struct image *img,
		      const struct code_function *function, uint32_t frame_bytes)
{
	const uint8_t *code = image_at(img, function->va, function->nr_bytes);
	struct row row;
	struct instruction i;

	if (!f || !code)
		return false;
	for (uint64_t at = 0; at < function->nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, function->nr_bytes - at, &i))
			return false;
		if (i.in.meta.category == ZYDIS_CATEGORY_CALL &&
		    (!read_row(f, function->va + at, &row) || row.base != ZYDIS_REGISTER_RSP ||
		     row.off != frame_bytes))
			return false;
	}
	return true;
}

/* lea distance(%rip), register */
static bool takes_address(const struct instruction *i, uint64_t at, uint64_t *va)
{
	const ZydisDecodedOperand *o = &i->operands[1];

	if (i->in.mnemonic != ZYDIS_MNEMONIC_LEA || o->mem.base != ZYDIS_REGISTER_RIP)
		return false;
	*va = at + i->in.length + o->mem.disp.value;
	return true;
}

/* Entries of a table end where one does not lead into the function. */
static bool leads_into(const struct image *img, uint64_t table, uint64_t va, uint64_t nr_bytes,
		       unsigned moved)
{
	for (uint64_t k = 0; k < MAX_ENTRIES; k++) {
		const uint8_t *p = image_at(img, table + 4 * k, 4);
		int32_t distance;
		uint64_t to;

		if (!p)
			return false;
		memcpy(&distance, p, 4);
		to = table + distance - va;
		if (to >= nr_bytes)
			return false;
		if (to < moved)
			return true;
	}
	return true;
}

bool code_is_jumped_into(const struct image *img, uint64_t va, uint64_t nr_bytes, unsigned moved)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	struct instruction i;
	uint64_t table;

	if (!code)
		return true;
	for (uint64_t at = 0; at < nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return true;
		if (takes_address(&i, va + at, &table) && !image_is_code(img, table) &&
		    leads_into(img, table, va, nr_bytes, moved))
			return true;
	}
	return false;
}
