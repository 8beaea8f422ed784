// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/symtab.h"

#include <elf.h>
#include <string.h>

#define MAX_OBJECTS_BETWEEN 64

static int by_va(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->va != y->va)
		return x->va < y->va ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const struct image_section *find_table(const struct image *img)
{
	const struct image_section *dynsym = NULL;

	for (uint32_t i = 0; i < img->nr_sections; i++) {
		if (img->sections[i].type == SHT_SYMTAB)
			return &img->sections[i];
		if (img->sections[i].type == SHT_DYNSYM)
			dynsym = &img->sections[i];
	}
	return dynsym;
}

/* One entry of the table. False: it is broken, or neither function nor object. */
static bool read_symbol(const struct image *img, const uint8_t *entry,
			const struct image_section *names, struct symbol *to, uint64_t *nr_broken)
{
	Elf64_Sym sym;

	memcpy(&sym, entry, sizeof(sym));
	if ((ELF64_ST_TYPE(sym.st_info) != STT_FUNC && ELF64_ST_TYPE(sym.st_info) != STT_OBJECT) ||
	    sym.st_shndx == SHN_UNDEF)
		return false;
	to->name = image_string(img, names->off + sym.st_name, names->off + names->size_bytes);
	to->va = sym.st_value;
	to->size_bytes = sym.st_size;
	to->is_function = ELF64_ST_TYPE(sym.st_info) == STT_FUNC;
	*nr_broken += !to->name;
	return to->name;
}

static void load(struct symtab *t, const struct image *img, const struct image_section *s,
		 const struct image_section *names)
{
	const uint8_t *data = image_section_data(img, s);
	uint64_t nr = s->size_bytes / sizeof(Elf64_Sym);

	if (!data || !image_section_data(img, names)) {
		t->nr_broken++;
		return;
	}
	t->v = xcalloc(nr, sizeof(*t->v));
	for (uint64_t i = 0; i < nr; i++)
		t->nr += read_symbol(img, data + i * sizeof(Elf64_Sym), names, &t->v[t->nr],
				     &t->nr_broken);
	if (t->nr)
		qsort(t->v, t->nr, sizeof(*t->v), by_va);
}

struct symtab *symtab_new(const struct image *img)
{
	struct symtab *t = xcalloc(1, sizeof(*t));
	const struct image_section *s = find_table(img);

	if (s && s->link < img->nr_sections)
		load(t, img, s, &img->sections[s->link]);
	return t;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->v);
	free(t);
}

void symtab_each_function(const struct image *img, void (*fn)(void *arg, const struct symbol *s),
			  void *arg)
{
	const struct image_section *s = image_section(img, ".symtab"), *names;
	const uint8_t *data = s ? image_section_data(img, s) : NULL;
	uint64_t nr_broken = 0;
	struct symbol symbol;

	names = data && s->link < img->nr_sections ? &img->sections[s->link] : NULL;
	if (!names || !image_section_data(img, names))
		return;
	for (uint64_t i = 0; i < s->size_bytes / sizeof(Elf64_Sym); i++)
		if (read_symbol(img, data + i * sizeof(Elf64_Sym), names, &symbol, &nr_broken) &&
		    symbol.is_function)
			fn(arg, &symbol);
}

/* The first symbol at va or behind it. */
static size_t lower_bound(const struct symtab *t, uint64_t va)
{
	return partition_point(i, t->nr, t->v[i].va < va);
}

const struct symbol *symtab_function(const struct symtab *t, uint64_t va)
{
	size_t i = va == UINT64_MAX ? t->nr : lower_bound(t, va + 1);

	/* Functions do not lie in each other: the nearest that begins before is the only one. Few
	 * objects lie between them. */
	for (size_t tries = 0; i-- > 0 && tries < MAX_OBJECTS_BETWEEN; tries++)
		if (t->v[i].is_function)
			return va - t->v[i].va < MAX(t->v[i].size_bytes, 1) ? &t->v[i] : NULL;
	return NULL;
}

const struct symbol *symtab_at(const struct symtab *t, uint64_t va, size_t *nr)
{
	size_t lo = lower_bound(t, va), n = 0;

	while (lo + n < t->nr && t->v[lo + n].va == va)
		n++;
	if (nr)
		*nr = n;
	return n ? &t->v[lo] : NULL;
}
