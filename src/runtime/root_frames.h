// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where the futures of block_on lie: docs/INTERNALS.md, "Root futures". */
#ifndef RUNTIME_ROOT_FRAMES_H
#define RUNTIME_ROOT_FRAMES_H

#include "runtime/discover.h"
#include "runtime/recipe.h"

/* Of the object in the file at path, which lies at base. Returns how many, at most max. */
uint32_t root_frames_find(struct recipe_book *b, struct layouts *l, const struct discovery *d,
			  const char *path, uint64_t base, struct wire_framed *out, uint32_t max);
/* The last type argument that a type's name has, LAYOUT_NONE: it has none. */
uint32_t root_last_argument(struct layouts *l, const char *name);

#endif
