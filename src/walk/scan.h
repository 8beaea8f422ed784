// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Looks for certain words, such as addresses of tables, in all memory that a program writes to. As
 * many threads as there are processors read it, many pieces at a time. What was never touched is
 * left out.
 */
#ifndef WALK_SCAN_H
#define WALK_SCAN_H

#include "memory/memory.h"

#define SCAN_MAX_THREADS 16

/* A part of memory that was copied. */
struct scan_piece {
	struct memory *memory;
	const uint8_t *bytes;
	uint64_t addr, len;
};

/* A word at `addr`, which is in the piece: `value` is its in the map. Called from several threads
 * at once; `worker` tells them apart. */
typedef void scan_fn(void *arg, unsigned worker, const struct scan_piece *piece, uint64_t addr,
		     uint64_t value);

/* Returns how many bytes were read. */
uint64_t scan_memory(struct memory *m, const struct map *words, scan_fn *fn, void *arg);
/* From the copy if it is there, else from memory. piece: NULL: there is none. */
bool scan_read(const struct scan_piece *piece, struct memory *m, uint64_t addr, void *into,
	       uint64_t len);

#endif
