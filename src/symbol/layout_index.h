// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What must be known of all units before the first type is asked for, found in one pass over them:
 * where the definition of a name is, which functions have type arguments, which types the tables of
 * trait objects belong to. Private to symbol/.
 *
 * Names are kept as hashes of 64 bits: the names themselves are in the debug info, and whatever is
 * found by a hash is compared with it.
 */
#ifndef SYMBOL_LAYOUT_INDEX_H
#define SYMBOL_LAYOUT_INDEX_H

#include "base/strbuf.h"
#include "symbol/dwarf_index.h"

enum index_table {
	INDEX_NAMES,	 /* hash of a type's name -> offset of its definition */
	INDEX_FUNCTIONS, /* va -> offset of a function with type arguments, or main */
	INDEX_VTABLES,	 /* va -> offset of the table's type */
	INDEX_BODIES,	 /* hash of a coroutine's name -> offset of a function that is its code */
	INDEX_FUTURES,	 /* hash of the name of a type that has a poll of its own */
	INDEX_SPACES,	 /* offset of a namespace -> its end, and the number of the one around it */
	NR_INDEX_TABLES
};

struct index_entry {
	uint64_t key, value;
};

/* Sorted by key, then by value. */
struct layout_index {
	VEC(struct index_entry) tables[NR_INDEX_TABLES];
	bool is_split; /* some units are elsewhere, in .dwo files */
};

void layout_index_build(struct layout_index *x, struct dwarf *d);
void layout_index_release(struct layout_index *x);
/* The first of that key, NULL when there is none. */
const struct index_entry *layout_index_find(const struct layout_index *x, enum index_table table,
					    uint64_t key);
/* The next of the same key, NULL when there is none. */
const struct index_entry *layout_index_next(const struct layout_index *x, enum index_table table,
					    const struct index_entry *e);
/* Appends "a::b::", the namespaces around a DIE. */
void layout_index_add_path(const struct layout_index *x, struct dwarf *d, uint64_t off,
			   struct strbuf *to);

/* For the cache. False: what was read is no good, and x is empty. */
void layout_index_encode(const struct layout_index *x, struct strbuf *to);
bool layout_index_decode(struct layout_index *x, const void *data, size_t len);

/*
 * How many bytes may be looked at: what compilers write is read two or three times, what is made to
 * be read for ever is not.
 */
static inline uint64_t layout_budget(const struct dwarf *d)
{
	return 16 * (d->raw.sections[RAW_INFO].size_bytes + (UINT64_C(1) << 20));
}

#define LAYOUT_HASH_START UINT64_C(0xcbf29ce484222325)

/* Of a string in pieces: the hash of what is before it goes in. */
static inline uint64_t layout_hash(uint64_t hash, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
