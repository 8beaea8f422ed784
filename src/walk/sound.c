// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/sound.h"

#define MAX_DEPTH  64
#define MAX_DANGLE 4096 /* an empty Vec has its alignment for an address */

static bool is_sound(const struct snapshot *s, struct value v, unsigned depth);

static bool is_number_sound(const struct snapshot *s, const struct layout *l, uint64_t addr)
{
	uint64_t number;

	if (l->number != LAYOUT_BOOL)
		return true;
	return snapshot_number(s, addr, l->size_bytes, &number) && number <= 1;
}

static bool is_pointer_sound(const struct snapshot *s, uint64_t addr)
{
	uint64_t target;

	return snapshot_number(s, addr, 8, &target) &&
	       (target < MAX_DANGLE || memory_area(s->memory, target));
}

static bool are_members_sound(const struct snapshot *s, const struct value *v,
			      const struct layout_member *m, uint32_t nr, unsigned depth)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!is_sound(s, (struct value){ v->types, m[i].type, v->addr + m[i].off }, depth))
			return false;
	return true;
}

/* Unions, and what they are used for: whether a part of it is there, no type tells. */
static bool is_vague(struct types *t, const struct layout *l)
{
	uint64_t sum = 0;

	if (str_has_prefix(l->name, "core::mem::maybe_uninit::MaybeUninit<") ||
	    str_has_prefix(l->name, "core::mem::manually_drop::ManuallyDrop<"))
		return true;
	for (uint32_t i = 0; i < l->nr_members; i++)
		sum += types_get(t, l->members[i].type)->layout->size_bytes;
	return sum > l->size_bytes;
}

/* In core::num::niche_types, in earlier releases core::time and std::sys. */
static bool is_nanoseconds(const struct layout *l)
{
	return (str_has_prefix(l->name, "core::") || str_has_prefix(l->name, "std::")) &&
	       str_has_suffix(l->name, "::Nanoseconds") && l->size_bytes == 4;
}

static bool is_struct_sound(const struct snapshot *s, const struct value *v, const struct layout *l,
			    unsigned depth)
{
	uint64_t ns;

	if (is_vague(v->types, l))
		return true;
	if (is_nanoseconds(l))
		return snapshot_number(s, v->addr, 4, &ns) && ns < 1000000000;
	return are_members_sound(s, v, l->members, l->nr_members, depth);
}

static bool is_enum_sound(const struct snapshot *s, const struct value *v, const struct layout *l,
			  unsigned depth)
{
	const struct layout_variant *variant;
	uint64_t discr = 0;

	if (l->discr_bytes && !snapshot_number(s, v->addr + l->discr_off, l->discr_bytes, &discr))
		return false;
	variant = layout_variant(l, discr);
	return variant && are_members_sound(s, v, variant->members, variant->nr_members, depth) &&
	       are_members_sound(s, v, l->members, l->nr_members, depth);
}

static bool is_sound(const struct snapshot *s, struct value v, unsigned depth)
{
	const struct layout *l = types_get(v.types, v.type)->layout;

	if (!depth)
		return true;
	switch (l->kind) {
	case LAYOUT_NUMBER:
		return is_number_sound(s, l, v.addr);
	case LAYOUT_POINTER:
		return is_pointer_sound(s, v.addr);
	case LAYOUT_STRUCT:
		return is_struct_sound(s, &v, l, depth - 1);
	case LAYOUT_ENUM:
		return !l->nr_variants || is_enum_sound(s, &v, l, depth - 1);
	default:
		return true;
	}
}

bool value_is_sound(const struct snapshot *s, struct value v)
{
	return is_sound(s, v, MAX_DEPTH);
}
