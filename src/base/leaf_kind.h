// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a future waits for in the end: the kinds of leaf.def, and what is known of each. */
#ifndef BASE_LEAF_KIND_H
#define BASE_LEAF_KIND_H

#include <stdbool.h>

enum leaf_kind {
	LEAF_KIND_NONE, /* it is no leaf, or one of a kind that only later releases know */
#define LEAF_KIND(kind, ...) LEAF_KIND_##kind,
#include "base/leaf.def"
#undef LEAF_KIND
	NR_LEAF_KINDS
};

enum leaf_ender { LEAF_ENDED_BY_ANYONE, LEAF_ENDED_BY_DRIVER, LEAF_ENDED_BY_OTHERS };

struct leaf_traits {
	const char *name; /* "" of none */
	enum leaf_ender ended_by;
	bool is_lock, is_once;
};

const struct leaf_traits *leaf_traits(enum leaf_kind kind); /* never NULL */
const char *leaf_kind_name(enum leaf_kind kind);
enum leaf_kind leaf_kind_named(const char *name); /* NULL or "": none */

#endif
