// SPDX-License-Identifier: MIT OR Apache-2.0
/* Between layout.c, which numbers types, and layout_read.c, which reads them. Private to symbol/.
 */
#ifndef SYMBOL_LAYOUT_TYPES_H
#define SYMBOL_LAYOUT_TYPES_H

#include "symbol/layout.h"
#include "symbol/layout_index.h"

struct type {
	struct layout layout;
	uint64_t off; /* of the DIE that describes it */
	uint64_t name_hash;
	bool is_resolved; /* else only name, size and kind are there */
};

struct layouts {
	struct dwarf *d;
	struct layout_index index;
	VEC(struct type *) types;
	struct map by_off;  /* of a DIE -> number of its type */
	struct map by_name; /* hash of name and shape -> number */
	struct map files;   /* hash of unit and file number -> number in file_names */
	VEC(const char *) file_names;
	VEC(char *) strings;
	unsigned nesting; /* of types that are being read */
	uint64_t budget;  /* bytes of debug info that may still be looked at */
};

/* Where the line of a variant is, before it is known whether a macro wrote it. */
struct layout_place {
	const char *file;
	uint64_t line;
};

/* The variants of a coroutine. */
struct layout_awaits {
	struct layout_variant *variants;
	const struct layout_place *places; /* of each */
	size_t nr;
};

/* False: there is nothing left to spend. */
bool layouts_spend(struct layouts *l, uint64_t bytes);
/* The number of the type at an offset; LAYOUT_NONE when there is none. */
uint32_t layouts_number(struct layouts *l, uint64_t off);
/* Type argument `param` of the function at an offset, LAYOUT_NONE: it has none. */
uint32_t layouts_param_of(struct layouts *l, uint64_t off, const char *param);
const char *layouts_file(struct layouts *l, struct raw_unit *u, uint64_t index); /* "" : unknown */

/* layout_read.c: fills in what is below the name of a type. */
void layout_read(struct layouts *l, struct type *t);
/*
 * Mixes what the members, variants and values of the type at the cursor are called and where they
 * lie, not of which types they are, and the types that it has as arguments. The cursor stands
 * behind its DIE, and afterwards behind all.
 */
uint64_t layout_shape(struct layouts *l, struct raw_cursor *c);

/* layout_coroutine.c: what makes a coroutine of an enum. */
void layout_read_coroutine(struct layouts *l, struct type *type, const struct layout_awaits *a);

#endif
