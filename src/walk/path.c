// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Most of a path leads through structs only: where that ends is the same for all values of a type,
 * and is worked out once. Memory has to be asked for pointers, and for the variants of enums.
 */
#include "walk/path.h"

#include <string.h>

#define MAX_WRAPPERS 8
#define MAX_NAME     128

/* What is looked for by what it is, in place of a name. */
static const char a_pointer[] = "a pointer", a_number[] = "a number", an_array[] = "an array";

struct search {
	const struct snapshot *snapshot; /* NULL: by types alone */
	bool needs_memory;		 /* then types do not tell */
	const char *name;
};

static const struct layout *layout_of(const struct value *v)
{
	return types_get(v->types, v->type)->layout;
}

/* What is not in the snapshot is read as it happens to be. */
static bool read_number(const struct snapshot *s, uint64_t addr, uint64_t len, uint64_t *number)
{
	if (snapshot_number(s, addr, len, number))
		return true;
	return len && len <= sizeof(*number) && memory_read(s->memory, addr, number, len);
}

static const struct layout_member *members_of(struct search *s, const struct value *v, uint32_t *nr)
{
	const struct layout *l = layout_of(v);
	const struct layout_variant *variant;
	uint64_t discr = 0;

	if (l->kind == LAYOUT_STRUCT) {
		*nr = l->nr_members;
		return l->members;
	}
	*nr = 0;
	if (l->kind != LAYOUT_ENUM && l->kind != LAYOUT_COROUTINE)
		return NULL;
	s->needs_memory = s->needs_memory || !s->snapshot;
	if (!s->snapshot || (l->discr_bytes && !read_number(s->snapshot, v->addr + l->discr_off,
							    l->discr_bytes, &discr)))
		return NULL;
	variant = layout_variant(l, discr);
	*nr = variant ? variant->nr_members : 0;
	return variant ? variant->members : NULL;
}

const struct layout_member *path_members(const struct snapshot *s, const struct value *v,
					 uint32_t *nr)
{
	return members_of(&(struct search){ .snapshot = s }, v, nr);
}

static bool fits(const struct search *s, const struct layout_member *m, const struct value *v)
{
	enum layout_kind kind;

	if (s->name != a_pointer && s->name != a_number && s->name != an_array)
		return strcmp(m->name, s->name) == 0;
	kind = layout_of(v)->kind;
	return s->name == an_array
		       ? kind == LAYOUT_ARRAY
		       : kind == LAYOUT_POINTER || (s->name == a_number && kind == LAYOUT_NUMBER);
}

/* The nearest part of the value that fits. */
static bool find_part(struct search *s, struct value *v, unsigned depth)
{
	uint32_t nr;
	const struct layout_member *m = members_of(s, v, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		struct value inner = { v->types, m[i].type, v->addr + m[i].off };

		if (depth ? find_part(s, &inner, depth - 1) : fits(s, &m[i], &inner)) {
			*v = inner;
			return true;
		}
	}
	return false;
}

static bool find_nearest(struct search *s, struct value *v)
{
	for (unsigned depth = 0; depth < MAX_WRAPPERS && !s->needs_memory; depth++)
		if (find_part(s, v, depth))
			return !s->needs_memory;
	return false;
}

static struct type_part find_by_type(struct types *types, uint32_t type, const char *name)
{
	struct value v = { types, type, 0 };
	struct search s = { .name = name };
	bool is_found = find_nearest(&s, &v);

	return (struct type_part){
		.type = v.type,
		.off = v.addr,
		.is_found = is_found,
		.needs_memory = s.needs_memory,
	};
}

/* Paths are told apart by where they are kept: they are all constants. */
static bool find(const struct snapshot *snapshot, struct value *v, const char *path,
		 const char *name)
{
	const struct type *t = types_get(v->types, v->type);
	const struct type_part *part = NULL;

	for (size_t i = 0; i < t->parts.nr && !part; i++)
		if (t->parts.v[i].path == path)
			part = &t->parts.v[i];
	if (!part) {
		struct type_part found = find_by_type(v->types, v->type, name);

		found.path = path;
		part = types_add_part(v->types, v->type, &found);
	}
	if (!part || part->needs_memory)
		return find_nearest(&(struct search){ .snapshot = snapshot, .name = name }, v);
	if (!part->is_found)
		return false;
	v->type = part->type;
	v->addr += part->off;
	return true;
}

static bool find_kind(const struct snapshot *s, struct value *v, const char *name)
{
	return find(s, v, name, name);
}

static bool dereference(const struct snapshot *s, struct value *v)
{
	struct search inner = { .snapshot = s };
	uint64_t addr;

	if (layout_of(v)->kind != LAYOUT_POINTER && !find_kind(s, v, a_pointer))
		return false;
	if (!read_number(s, v->addr, sizeof(addr), &addr) || !addr)
		return false;
	v->type = layout_of(v)->target;
	v->addr = addr;
	if (!types_get(v->types, v->type)->is_counted)
		return true;
	inner.name = "data";
	if (find_part(&inner, v, 0))
		return true;
	inner.name = "value";
	return find_part(&inner, v, 0);
}

static bool index_array(const struct snapshot *s, struct value *v, uint64_t index)
{
	const struct layout *l;

	if (layout_of(v)->kind != LAYOUT_ARRAY && !find_kind(s, v, an_array))
		return false;
	l = layout_of(v);
	v->type = l->target;
	v->addr += index * layout_of(v)->size_bytes;
	return index < l->nr_elements;
}

static bool follow_one(const struct snapshot *s, struct value *v, const char *path, size_t len)
{
	char name[MAX_NAME];

	if (len == 1 && *path == '*')
		return dereference(s, v);
	if (*path >= '0' && *path <= '9')
		return index_array(s, v, strtoul(path, NULL, 10));
	if (len >= sizeof(name))
		return false;
	memcpy(name, path, len);
	name[len] = 0;
	return find(s, v, path, name);
}

bool path_follow(const struct snapshot *s, struct value *v, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, ".");

		if (!follow_one(s, v, path, len))
			return false;
		path += len + (path[len] == '.');
	}
	return true;
}

bool path_number(const struct snapshot *s, struct value v, uint64_t *number)
{
	const struct layout *l = layout_of(&v);

	if (l->kind == LAYOUT_ENUM && l->size_bytes <= 8) /* without data, or all that there is */
		return read_number(s, v.addr + l->discr_off, l->discr_bytes, number);
	if (l->kind != LAYOUT_NUMBER && l->kind != LAYOUT_POINTER && !find_kind(s, &v, a_number))
		return false;
	l = layout_of(&v);
	return read_number(s, v.addr, l->kind == LAYOUT_POINTER ? 8 : l->size_bytes, number);
}
