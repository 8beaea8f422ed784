// SPDX-License-Identifier: MIT OR Apache-2.0
/* The index that dwarf.c builds of the units it had to read. Private to symbol/. */
#ifndef SYMBOL_DWARF_INDEX_H
#define SYMBOL_DWARF_INDEX_H

#include <libelf.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_raw.h"

#define NO_SPACE UINT32_MAX

/*
 * A namespace. rustc makes one of every module, impl block and function that has closures, again in
 * every unit; here equal ones are one.
 */
struct space {
	uint32_t parent;
	const char *name;
};

/* The type "{async_fn_env#0}" of a coroutine, or "{closure_env#0}" of a closure. */
struct env {
	uint64_t off;
	uint32_t space;
	const char *name;
};

/* Its code "{async_fn#0}" or "{closure#0}", in the same namespace. */
struct body {
	uint32_t space;
	const char *name, *linkage_name;
	uint64_t decl_file, decl_line, va;
	struct raw_unit *unit;
};

/* The code of a coroutine, or a function "poll"; or what has that elsewhere, at its origin. */
struct poll {
	uint64_t off, origin_off, type_off, va, end_va;
	uint64_t decl_file, decl_line;
	uint32_t space;
	bool has_origin, has_type;
	bool has_code; /* of its own, wherever that is */
	const char *name, *linkage_name;
	struct raw_unit *unit;
};

struct match {
	uint64_t origin_off, type_off;
	struct raw_unit *unit; /* where it was found */
	bool has_origin, has_type;
};

struct dwarf {
	int fd;
	Elf *elf;
	struct Dwarf *libdw; /* for what is asked seldom; NULL: nothing was */
	struct raw_file raw;
	struct raw_abbrevs **abbrevs; /* of each unit, when it was needed */
	VEC(struct space) spaces;
	struct map space_by_name; /* hash of parent and name -> number + 1 */
	VEC(struct env) envs;
	VEC(struct body) bodies;
	VEC(struct poll) polls; /* only if they are wanted */
	bool wants_polls;
	VEC(char *) strings;
};

/* A cursor that stands on the DIE at off; false when there is no unit around it. */
bool dwarf_cursor(struct dwarf *d, uint64_t off, struct raw_cursor *c);
/* Marks the units that .debug_aranges says to hold one of the addresses; fns are sorted by va. */
void dwarf_choose_units(struct dwarf *d, const struct dwarf_function *fns, size_t nr, bool *wanted);
/* Adds a unit to the index, and fills in those functions that begin in it. */
void dwarf_walk(struct dwarf *d, struct raw_unit *u, struct dwarf_function *fns,
		struct match *matches, size_t nr);
/* Tells what the type at type_off is made of. */
void dwarf_describe(struct dwarf *d, uint64_t type_off, struct dwarf_function *fn);
/*
 * The same from a type's name, for debug = 1, where types have no description but functions have.
 */
void dwarf_describe_name(struct dwarf *d, const char *type, size_t len, struct raw_unit *seen_in,
			 struct dwarf_function *fn);
/* "a::b::" of a namespace. */
void dwarf_add_space(struct dwarf *d, uint32_t space, struct strbuf *to);
/* The file of that number in the unit's line table, NULL when there is none. */
const char *dwarf_file_name(struct dwarf *d, struct raw_unit *u, uint64_t index);

#endif
