// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Raw DWARF 4 and 5: sections, units, abbreviations, DIEs in file order. libdw's own DIE trees are
 * too slow to look at a hundred megabytes on every first start; this reads each byte of the units
 * in question once. Private to symbol/. Everything is bounds-checked; a broken unit ends where it
 * breaks and is counted.
 */
#ifndef SYMBOL_DWARF_RAW_H
#define SYMBOL_DWARF_RAW_H

#include "symbol/dwarf_bytes.h"

enum raw_section_id {
	RAW_INFO,
	RAW_ABBREV,
	RAW_STR,
	RAW_LINE_STR,
	RAW_STR_OFFSETS,
	RAW_ADDR,
	RAW_ARANGES,
	RAW_LINE,
	RAW_RANGES,
	RAW_RNGLISTS,
	RAW_LOC,
	RAW_LOCLISTS,
	NR_RAW_SECTIONS
};

struct raw_unit {
	uint64_t off, end, die_off; /* in .debug_info: header, end, first DIE */
	uint64_t abbrev_off;
	uint64_t str_offsets_base, addr_base, rnglists_base, loclists_base;
	uint8_t version, offset_bytes, addr_bytes;
	bool walked; /* free for the user of the unit */
};

struct raw_file {
	struct raw_section sections[NR_RAW_SECTIONS];
	struct raw_unit *units;
	size_t nr_units;
	uint64_t nr_broken;
};

/* An attribute that is read only when somebody asks for it. */
struct raw_value {
	uint64_t off;  /* in .debug_info */
	uint16_t form; /* 0: the DIE does not have it */
};

/* What a DIE says, of the attributes that matter here; has_… tells which are there. */
struct raw_die {
	uint64_t off;
	uint32_t tag;
	bool has_children, has_low_pc, has_type, has_origin, has_discr, has_ranges;
	bool has_byte_size, has_discr_member, has_containing, has_addr;
	bool is_declaration, is_split;			/* split: the rest is in a .dwo file */
	bool is_high_pc_len;				/* high_pc counts from low_pc */
	uint64_t low_pc, high_pc, type_off, origin_off; /* offsets in .debug_info */
	uint64_t ranges_off;				/* in .debug_ranges or .debug_rnglists */
	uint64_t call_file, call_line;			/* where an inlined function was called */
	uint64_t byte_size, alignment, decl_file, decl_line, discr_value, line_off;
	uint64_t discr_off;	 /* of the member that tells which variant it is */
	uint64_t containing_off; /* the type that a table of functions belongs to */
	uint64_t member_off;	 /* in the object */
	uint64_t addr;		 /* of a variable that is always at the same place */
	uint64_t count;		 /* of the elements of an array */
	uint64_t const_value, encoding, language;
	struct raw_value location, frame_base;
	const char *name, *linkage_name,
		*comp_dir; /* borrowed from the sections; NULL when absent */
};

struct raw_abbrevs;

struct raw_abbrevs *raw_abbrevs_new(const struct raw_file *f, uint64_t abbrev_off);
void raw_abbrevs_free(struct raw_abbrevs *a);
bool raw_abbrevs_have(const struct raw_abbrevs *a, uint32_t tag);

/* Reads all unit headers. */
void raw_read_units(struct raw_file *f);
struct raw_unit *raw_unit_of(const struct raw_file *f, uint64_t info_off); /* or NULL */

/* Reads the DIEs of a unit one behind the other. */
struct raw_cursor {
	const struct raw_file *file;
	struct raw_unit *unit;
	const struct raw_abbrevs *abbrevs;
	uint64_t off;
	bool broken;
};

void raw_cursor_init(struct raw_cursor *c, const struct raw_file *f, struct raw_unit *u,
		     const struct raw_abbrevs *a, uint64_t off);
/*
 * dwarf_line.c: file `index` of the line table at line_off, as "folder/name" where the table says
 * so. The caller frees it; NULL when there is none.
 */
char *raw_line_file(const struct raw_file *f, uint64_t line_off, uint64_t index);

struct raw_row {
	uint64_t va;	     /* in */
	uint64_t file, line; /* out: what the line table has for it; line 0: nothing */
};

/* Runs the line table's program. rows must be sorted by va; those already known are left alone. */
void raw_line_rows(const struct raw_file *f, uint64_t line_off, struct raw_row *rows, size_t nr);

/*
 * dwarf_loc.c: a location is one expression, or a list of them, each for some of the code; then
 * is_list, and an empty one says nothing. next: false at the end, or where it is broken.
 */
struct raw_locations {
	struct raw_bytes at;
	uint8_t version; /* of the list, 0: it is an expression */
	bool is_list, is_broken;
};

void raw_locations_init(struct raw_locations *l, const struct raw_file *f, const struct raw_unit *u,
			const struct raw_value *value);
bool raw_locations_next(struct raw_locations *l, struct raw_bytes *expression);

/* dwarf_ranges.c: the pieces [from, to) of the code that a DIE describes. */
struct raw_ranges {
	const struct raw_file *file;
	const struct raw_unit *unit;
	struct raw_bytes at;
	uint64_t base, from, to;
	enum { RAW_NO_RANGE, RAW_ONE_RANGE, RAW_OLD_RANGES, RAW_NEW_RANGES } kind;
};

void raw_ranges_init(struct raw_ranges *r, const struct raw_file *f, const struct raw_unit *u,
		     const struct raw_die *die, uint64_t unit_low_pc);
bool raw_ranges_next(struct raw_ranges *r);
/* Does the code that the DIE describes include va? unit_low_pc is the unit's. */
bool raw_die_covers(const struct raw_file *f, const struct raw_unit *u, const struct raw_die *die,
		    uint64_t unit_low_pc, uint64_t va);

/*
 * The next DIE. 0: the end of the unit; 1: a DIE; 2: the end of a list of children. With a mask of
 * tags, all below 64, the attributes of other DIEs are skipped unread.
 */
#define TAG(t) (UINT64_C(1) << (t))
int raw_next(struct raw_cursor *c, uint64_t wanted_tags, struct raw_die *die);

/* Goes behind the children of the DIE that was read last, all of them unread. */
void raw_skip_children(struct raw_cursor *c);

#endif
