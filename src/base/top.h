// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first of many elements by a number, with memory for these alone:
 *
 *	top_init(&top, sizeof(struct foo), 20);
 *	for each: if ((foo = top_add(&top, key, nr))) *foo = …;
 *	foos = top_take(&top, &nr);		an array in order, to be freed
 */
#ifndef BASE_TOP_H
#define BASE_TOP_H

#include "base/vec.h"

struct top_rank {
	uint64_t key, nr;
	size_t at; /* where its element lies, in elements */
};

struct top {
	size_t size; /* of an element, in bytes */
	uint64_t limit;
	VEC(struct top_rank) heap; /* its root is the one to go first */
	VEC(char) elements;
};

void top_init(struct top *t, size_t size, uint64_t limit); /* limit 0: all are kept */
void top_release(struct top *t);
/*
 * Room for one more, to be filled before the next one comes; NULL: enough stand before it. The
 * greatest key stands first, of equals the least nr.
 */
void *top_add(struct top *t, uint64_t key, uint64_t nr);
/* First ones first; it is empty then. */
void *top_take(struct top *t, size_t *nr);

#endif
