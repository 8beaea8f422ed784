// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/path.h"

#include <string.h>

#define MAX_WRAPPERS 8
#define MAX_NAME     128

static const struct layout *layout_of(const struct value *v)
{
	return types_get(v->types, v->type)->layout;
}

bool path_read(const struct snapshot *s, uint64_t addr, uint64_t len, uint64_t *number)
{
	if (snapshot_number(s, addr, len, number))
		return true;
	return len && len <= sizeof(*number) && memory_read(s->memory, addr, number, len);
}

/* What a value is made of: its members, or those of the active variant. */
static const struct layout_member *members_of(const struct snapshot *s, const struct value *v,
					      uint32_t *nr)
{
	const struct layout *l = layout_of(v);
	const struct layout_variant *variant;
	uint64_t discr = 0;

	if (l->kind == LAYOUT_STRUCT) {
		*nr = l->nr_members;
		return l->members;
	}
	*nr = 0;
	if ((l->kind != LAYOUT_ENUM && l->kind != LAYOUT_COROUTINE) ||
	    (l->discr_bytes && !path_read(s, v->addr + l->discr_off, l->discr_bytes, &discr)))
		return NULL;
	variant = layout_variant(l, discr);
	*nr = variant ? variant->nr_members : 0;
	return variant ? variant->members : NULL;
}

typedef bool match_fn(const struct layout_member *m, const struct value *v, const char *name);

/* The nearest part of the value that fits. */
static bool find_part(const struct snapshot *s, struct value *v, match_fn *fits, const char *name,
		      unsigned depth)
{
	uint32_t nr;
	const struct layout_member *m = members_of(s, v, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		struct value inner = { v->types, m[i].type, v->addr + m[i].off };

		if (depth ? find_part(s, &inner, fits, name, depth - 1)
			  : fits(&m[i], &inner, name)) {
			*v = inner;
			return true;
		}
	}
	return false;
}

static bool find_nearest(const struct snapshot *s, struct value *v, match_fn *fits,
			 const char *name)
{
	for (unsigned depth = 0; depth < MAX_WRAPPERS; depth++)
		if (find_part(s, v, fits, name, depth))
			return true;
	return false;
}

static bool is_named(const struct layout_member *m, const struct value *v, const char *name)
{
	return strcmp(m->name, name) == 0;
}

static bool is_array(const struct layout_member *m, const struct value *v, const char *name)
{
	return layout_of(v)->kind == LAYOUT_ARRAY;
}

static bool is_pointer(const struct layout_member *m, const struct value *v, const char *name)
{
	return layout_of(v)->kind == LAYOUT_POINTER;
}

static bool is_number(const struct layout_member *m, const struct value *v, const char *name)
{
	return layout_of(v)->kind == LAYOUT_NUMBER || is_pointer(m, v, name);
}

static bool dereference(const struct snapshot *s, struct value *v)
{
	uint64_t addr;

	if (layout_of(v)->kind != LAYOUT_POINTER && !find_nearest(s, v, is_pointer, NULL))
		return false;
	if (!path_read(s, v->addr, sizeof(addr), &addr) || !addr)
		return false;
	v->type = layout_of(v)->target;
	v->addr = addr;
	if (str_has_prefix(layout_of(v)->name, "alloc::sync::ArcInner<") ||
	    str_has_prefix(layout_of(v)->name, "alloc::rc::RcInner<") ||
	    str_has_prefix(layout_of(v)->name, "alloc::rc::RcBox<"))
		return find_part(s, v, is_named, "data", 0) ||
		       find_part(s, v, is_named, "value", 0);
	return true;
}

static bool index_array(const struct snapshot *s, struct value *v, uint64_t index)
{
	const struct layout *l;

	if (layout_of(v)->kind != LAYOUT_ARRAY && !find_nearest(s, v, is_array, NULL))
		return false;
	l = layout_of(v);
	v->type = l->target;
	v->addr += index * layout_of(v)->size_bytes;
	return index < l->nr_elements;
}

static bool follow_one(const struct snapshot *s, struct value *v, const char *name)
{
	if (strcmp(name, "*") == 0)
		return dereference(s, v);
	if (name[0] >= '0' && name[0] <= '9')
		return index_array(s, v, strtoul(name, NULL, 10));
	return find_nearest(s, v, is_named, name);
}

bool path_follow(const struct snapshot *s, struct value *v, const char *path)
{
	char name[MAX_NAME];

	while (*path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(name))
			return false;
		memcpy(name, path, len);
		name[len] = 0;
		if (!follow_one(s, v, name))
			return false;
		path += len + (path[len] == '.');
	}
	return true;
}

bool path_number(const struct snapshot *s, struct value v, uint64_t *number)
{
	const struct layout *l = layout_of(&v);

	if (l->kind == LAYOUT_ENUM && l->size_bytes <= 8) /* without data, or all that there is */
		return path_read(s, v.addr + l->discr_off, l->discr_bytes, number);
	if (l->kind != LAYOUT_NUMBER && l->kind != LAYOUT_POINTER &&
	    !find_nearest(s, &v, is_number, NULL))
		return false;
	l = layout_of(&v);
	return path_read(s, v.addr, l->kind == LAYOUT_POINTER ? 8 : l->size_bytes, number);
}
