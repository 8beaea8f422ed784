// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where functions begin and end, independently of symbols: unwind tables say it, or calls and
 * pointers where there are none. A wrong symbol alone harms no program; a change of code where no
 * function begins does. Callers check each function here before it is hooked.
 */
#ifndef SYMBOL_EXTENT_H
#define SYMBOL_EXTENT_H

#include "symbol/image.h"

struct extents;

/* img must outlive it. Never fails: a file without such tables and code has no functions. */
struct extents *extents_new(const struct image *img);
void extents_free(struct extents *e);
/* Is [va, va + nr_bytes) a function, no more and no less? */
bool extents_agree(struct extents *e, uint64_t va, uint64_t nr_bytes);

#endif
