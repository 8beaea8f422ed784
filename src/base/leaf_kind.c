// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/leaf_kind.h"

#include <string.h>

#include "base/util.h"

static const struct leaf_traits kinds[NR_LEAF_KINDS] = {
	[LEAF_KIND_NONE] = { "", LEAF_ENDED_BY_ANYONE, false, false },
#define LEAF_KIND(kind, name, ended_by, is_lock, is_once) \
	[LEAF_KIND_##kind] = { name, LEAF_ENDED_BY_##ended_by, is_lock, is_once },
#include "base/leaf.def"
#undef LEAF_KIND
};

const struct leaf_traits *leaf_traits(enum leaf_kind kind)
{
	return &kinds[kind < NR_LEAF_KINDS ? kind : LEAF_KIND_NONE];
}

const char *leaf_kind_name(enum leaf_kind kind)
{
	return leaf_traits(kind)->name;
}

enum leaf_kind leaf_kind_named(const char *name)
{
	for (unsigned i = LEAF_KIND_NONE + 1; name && i < NR_LEAF_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	return LEAF_KIND_NONE;
}
