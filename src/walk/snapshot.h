// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Objects of a memory that goes on changing, copied so that what is decoded from the copies was
 * true at one moment: every object is copied whole, by one read; when all is decoded, all of them
 * are read again and must be the same. Comparing only the words that were used is not enough: the
 * state of a future has few values, and comes back to the same one all the time. Counters and
 * addresses elsewhere in the object give it away.
 */
#ifndef WALK_SNAPSHOT_H
#define WALK_SNAPSHOT_H

#include "base/map.h"
#include "memory/memory.h"

struct snapshot_copy {
	uint64_t addr, len;
	size_t at; /* in bytes */
};

/* A copy that has bytes in a page. */
struct snapshot_link {
	uint64_t page;
	size_t copy;
	size_t next; /* an earlier one there, + 1; 0: none */
};

struct snapshot {
	struct memory *memory;
	VEC(struct snapshot_copy) copies;
	VEC(uint8_t) bytes;
	uint64_t max_bytes; /* of all copies */
	/* Where there are many copies, the earlier ones are found by page. */
	size_t nr_indexed;
	struct map pages; /* the latest link of each, + 1 */
	VEC(struct snapshot_link) links;
};

void snapshot_init(struct snapshot *s, struct memory *m);
void snapshot_release(struct snapshot *s);
void snapshot_reset(struct snapshot *s);
/* Makes room for a copy, to be filled by the caller; NULL: it would be too much. */
uint8_t *snapshot_reserve(struct snapshot *s, uint64_t addr, uint64_t len);
/* Copies the object, unless it lies in one that is copied. False: it cannot be read. */
bool snapshot_add(struct snapshot *s, uint64_t addr, uint64_t len);
/* Forgets all copies but the first nr. */
void snapshot_cut(struct snapshot *s, size_t nr);
/* Bytes of what was copied, good until the next copy; NULL: it was not. */
const uint8_t *snapshot_get(const struct snapshot *s, uint64_t addr, uint64_t len);
/* An integer of 1 to 8 bytes. */
bool snapshot_number(const struct snapshot *s, uint64_t addr, uint64_t len, uint64_t *value);
/* Is everything still as it was copied? Tells of several at once, so that it takes few reads. */
void snapshot_compare(struct snapshot *const *snapshots, size_t nr, bool *are_same);

#endif
