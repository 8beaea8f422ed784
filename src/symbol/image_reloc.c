// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Dynamic relocations, as ld.so would apply them at base 0: RELA (relative, and absolute against a
 * symbol that this file defines) and RELR (relative, the addend lies in place). Others do not make
 * addresses of code in this file, so they are left alone.
 */
#include <elf.h>
#include <string.h>

#include "arch/elf.h"
#include "symbol/image.h"

struct dynamic {
	uint64_t rela, rela_bytes, relr, relr_bytes, symtab;
};

static void mark(struct image *img, uint64_t va, bool store, uint64_t value)
{
	for (uint32_t i = 0; i < img->nr_segments; i++) {
		struct image_segment *s = &img->segments[i];
		uint64_t at = va - s->va, word = at / 8;

		if (va < s->va || at >= s->file_bytes || s->file_bytes - at < 8)
			continue;
		if (at % 8)
			break;
		if (!s->relocated)
			s->relocated = xcalloc(s->file_bytes / 512 + 1, sizeof(*s->relocated));
		s->relocated[word / 64] |= UINT64_C(1) << word % 64;
		if (store)
			memcpy(img->data + s->off + at, &value, sizeof(value));
		img->nr_relocs++;
		return;
	}
	img->nr_broken++;
}

/* The address of a symbol that this file defines; another file may still win at run time. */
static bool symbol_va(const struct image *img, uint64_t symtab, uint32_t index, uint64_t *va)
{
	const uint8_t *p =
		image_at(img, symtab + (uint64_t)index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
	Elf64_Sym sym;

	if (!p || !symtab)
		return false;
	memcpy(&sym, p, sizeof(sym));
	*va = sym.st_value;
	return sym.st_shndx != SHN_UNDEF;
}

static void apply_rela(struct image *img, const struct dynamic *d)
{
	for (uint64_t done = 0; done + sizeof(Elf64_Rela) <= d->rela_bytes;
	     done += sizeof(Elf64_Rela)) {
		const uint8_t *p = image_at(img, d->rela + done, sizeof(Elf64_Rela));
		Elf64_Rela r;
		uint64_t va;

		if (!p) { /* the rest is outside of the file as well */
			img->nr_broken++;
			return;
		}
		memcpy(&r, p, sizeof(r));
		if (ELF64_R_TYPE(r.r_info) == ARCH_RELOC_RELATIVE)
			mark(img, r.r_offset, true, r.r_addend);
		else if (ELF64_R_TYPE(r.r_info) == ARCH_RELOC_SYMBOL &&
			 symbol_va(img, d->symtab, ELF64_R_SYM(r.r_info), &va))
			mark(img, r.r_offset, true, va + r.r_addend);
	}
}

/* An even entry is an address; an odd one is a bitmap of the 63 words behind the last. */
static void apply_relr(struct image *img, const struct dynamic *d)
{
	uint64_t at = 0, entry;

	for (uint64_t done = 0; done + 8 <= d->relr_bytes; done += 8) {
		if (!image_word(img, d->relr + done, &entry)) {
			img->nr_broken++;
			return;
		}
		if (!(entry & 1)) {
			mark(img, entry, false, 0);
			at = entry + 8;
			continue;
		}
		for (unsigned bit = 0; bit < 63; bit++)
			if (entry >> (bit + 1) & 1)
				mark(img, at + bit * 8, false, 0);
		at += 63 * 8;
	}
}

void image_relocate(struct image *img, uint64_t dynamic_off, uint64_t dynamic_len)
{
	struct dynamic d = { 0 };
	Elf64_Dyn dyn;

	if (dynamic_off > img->size_bytes || dynamic_len > img->size_bytes - dynamic_off) {
		img->nr_broken++;
		return;
	}
	for (uint64_t i = 0; i < dynamic_len / sizeof(dyn); i++) {
		memcpy(&dyn, img->data + dynamic_off + i * sizeof(dyn), sizeof(dyn));
		switch (dyn.d_tag) {
		case DT_NULL:
			i = dynamic_len;
			break;
		case DT_RELA:
			d.rela = dyn.d_un.d_ptr;
			break;
		case DT_RELASZ:
			d.rela_bytes = dyn.d_un.d_val;
			break;
		case DT_RELR:
			d.relr = dyn.d_un.d_ptr;
			break;
		case DT_RELRSZ:
			d.relr_bytes = dyn.d_un.d_val;
			break;
		case DT_SYMTAB:
			d.symtab = dyn.d_un.d_ptr;
			break;
		}
	}
	apply_rela(img, &d);
	apply_relr(img, &d);
}
