// SPDX-License-Identifier: MIT OR Apache-2.0
/* Follows the paths of leaf rules (runtime/leaf_rules.h) from value to value. */
#ifndef WALK_PATH_H
#define WALK_PATH_H

#include "walk/snapshot.h"
#include "walk/types.h"

struct value {
	struct types *types;
	uint32_t type;
	uint64_t addr;
};

/* False: the path does not fit the type, leads through a null pointer, or cannot be read. */
bool path_follow(const struct snapshot *s, struct value *v, const char *path);
/* What a value is made of: its members, or those of the active variant; NULL: nothing. */
const struct layout_member *path_members(const struct snapshot *s, const struct value *v,
					 uint32_t *nr);
/* An integer, boolean or pointer, in whatever it is wrapped. */
bool path_number(const struct snapshot *s, struct value v, uint64_t *number);

#endif
