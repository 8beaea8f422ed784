// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where the futures of block_on lie: docs/internals/roots.md. */
#ifndef FUTURE_ROOT_FRAMES_H
#define FUTURE_ROOT_FRAMES_H

#include "future/recipe.h"
#include "runtime/discover.h"

struct root_frame {
	struct wire_framed plan; /* all but the type */
	uint32_t runtime;	 /* of the object's */
	uint32_t future;	 /* of roots that begin there; LAYOUT_NONE: others tell that */
};

/* Of the object in the file at path, which lies at base. Returns how many, at most max. */
uint32_t root_frames_find(struct recipe_book *b, struct layouts *l, const struct discovery *d,
			  const char *path, uint64_t base, struct root_frame *out, uint32_t max);
/* The future of a function whose type argument is `type`; LAYOUT_NONE: it has none. */
uint32_t root_future_of(struct layouts *l, const struct root_shape *r, uint32_t type);
/*
 * False: the runtime's own threads may wait for it. Of its futures those are the program's that
 * hold one of the program's, which is their last type argument.
 */
bool root_future_is_programs(struct layouts *l, uint32_t type);
/* As people call it. The caller frees it. */
char *root_future_name(const struct layout *l);

#endif
