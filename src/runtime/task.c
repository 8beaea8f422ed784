// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/task.h"

#include <string.h>

#include "runtime/runtime.h"

#define MAX_WRAPPERS 8 /* UnsafeCell in Mutex in CachePadded … */

/* A member by that name, nearest to the outside. */
static bool find_member(struct layouts *l, const char *name, unsigned depth, uint32_t *type,
			uint64_t *off)
{
	const struct layout *t = layouts_get(l, *type);
	const struct layout_member *m = layout_member(t, name);

	if (m) {
		*type = m->type;
		*off += m->off;
		return true;
	}
	for (uint32_t i = 0; depth && t->kind == LAYOUT_STRUCT && i < t->nr_members; i++) {
		uint32_t inner = t->members[i].type;
		uint64_t inner_off = *off + t->members[i].off;

		if (!find_member(l, name, depth - 1, &inner, &inner_off))
			continue;
		*type = inner;
		*off = inner_off;
		return true;
	}
	return false;
}

static bool find_nearest(struct layouts *l, const char *name, uint32_t *type, uint64_t *off)
{
	for (unsigned depth = 0; depth <= MAX_WRAPPERS; depth++)
		if (find_member(l, name, depth, type, off))
			return true;
	return false;
}

bool task_member(struct layouts *l, const char *path, uint32_t *type, uint64_t *off)
{
	uint32_t at = *type;
	uint64_t at_off = *off;
	char name[128];

	while (*path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(name))
			return false;
		memcpy(name, path, len);
		name[len] = 0;
		if (!find_nearest(l, name, &at, &at_off))
			return false;
		path += len + (path[len] == '.');
	}
	*type = at;
	*off = at_off;
	return true;
}
