// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Function and object symbols of a file, by address. Several names may share one address: linker
 * and compiler merge equal functions. Names are borrowed from the image, which must outlive the
 * table.
 */
#ifndef SYMBOL_SYMTAB_H
#define SYMBOL_SYMTAB_H

#include "symbol/image.h"

struct symbol {
	uint64_t va, size_bytes;
	const char *name; /* mangled */
	bool is_function; /* else an object */
};

struct symtab {
	struct symbol *v; /* sorted by va, then by name */
	size_t nr;
	uint64_t nr_broken;
};

/* Never fails: no .symtab (then .dynsym is taken), a broken one: fewer or no symbols. */
struct symtab *symtab_new(const struct image *img);
void symtab_free(struct symtab *t);
/*
 * The functions of the file's own .symtab, in no order and without the cost of one. fn is told the
 * same as `symtab.v` would hold.
 */
void symtab_each_function(const struct image *img, void (*fn)(void *arg, const struct symbol *s),
			  void *arg);
/* The function that va lies in; NULL when no symbol tells. */
const struct symbol *symtab_function(const struct symtab *t, uint64_t va);
/* The first symbol at exactly va, and how many there are; NULL when none. */
const struct symbol *symtab_at(const struct symtab *t, uint64_t va, size_t *nr);

#endif
