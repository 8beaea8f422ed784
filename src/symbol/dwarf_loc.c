// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where variables lie: one expression, or lists: .debug_loc of DWARF 2 to 4, .debug_loclists of 5.
 */
#include <dwarf.h>

#include "symbol/dwarf_raw.h"

static struct raw_bytes section_from(const struct raw_file *f, enum raw_section_id id, uint64_t off)
{
	const struct raw_section *s = &f->sections[id];
	struct raw_bytes b = { .data = s->data, .end = s->size_bytes };

	raw_skip(&b, off);
	return b;
}

/* The offset that is number `index` in the unit's table of them. */
static uint64_t indexed_list(const struct raw_file *f, const struct raw_unit *u, uint64_t index)
{
	struct raw_bytes b = section_from(f, RAW_LOCLISTS, u->loclists_base);

	if (index > f->sections[RAW_LOCLISTS].size_bytes)
		return UINT64_MAX;
	raw_skip(&b, index * u->offset_bytes);
	index = raw_fixed(&b, u->offset_bytes);
	return b.broken ? UINT64_MAX : u->loclists_base + index;
}

static void cut(struct raw_bytes *b, uint64_t nr_bytes)
{
	struct raw_bytes end = *b;

	raw_skip(&end, nr_bytes);
	b->end = end.off;
	b->broken = end.broken;
}

void raw_locations_init(struct raw_locations *l, const struct raw_file *f, const struct raw_unit *u,
			const struct raw_value *value)
{
	struct raw_bytes b = section_from(f, RAW_INFO, value->off);
	uint64_t off = UINT64_MAX;

	b.end = MIN(b.end, u->end);
	*l = (struct raw_locations){ 0 };
	switch (value->form) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
		cut(&b, raw_uleb(&b));
		l->at = b;
		return;
	case DW_FORM_block1:
		cut(&b, raw_fixed(&b, 1));
		l->at = b;
		return;
	case DW_FORM_sec_offset:
		off = raw_fixed(&b, u->offset_bytes);
		break;
	case DW_FORM_loclistx:
		off = indexed_list(f, u, raw_uleb(&b));
		break;
	}
	l->is_list = true;
	l->version = u->version;
	l->at = section_from(f, u->version >= 5 ? RAW_LOCLISTS : RAW_LOC, off);
	l->at.broken |= b.broken;
}

/* Goes to the bytes of the next expression; false: there is none. What only sets the base is an
 * empty one. */
static bool old_entry(struct raw_bytes *b, uint64_t *nr_bytes)
{
	uint64_t from = raw_fixed(b, 8), to = raw_fixed(b, 8);

	if (b->broken || (!from && !to))
		return false;
	*nr_bytes = from == UINT64_MAX ? 0 : raw_fixed(b, 2);
	return !b->broken;
}

static bool new_entry(struct raw_bytes *b, uint64_t *nr_bytes)
{
	const unsigned kind = raw_fixed(b, 1);

	switch (kind) {
	case DW_LLE_base_addressx:
		raw_uleb(b);
		break;
	case DW_LLE_base_address:
		raw_skip(b, 8);
		break;
	case DW_LLE_startx_endx:
	case DW_LLE_startx_length:
	case DW_LLE_offset_pair:
		raw_uleb(b);
		raw_uleb(b);
		break;
	case DW_LLE_start_end:
		raw_skip(b, 16);
		break;
	case DW_LLE_start_length:
		raw_skip(b, 8);
		raw_uleb(b);
		break;
	case DW_LLE_default_location:
		break;
	default:
		b->broken |= kind != DW_LLE_end_of_list;
		return false;
	}
	*nr_bytes = kind == DW_LLE_base_addressx || kind == DW_LLE_base_address ? 0 : raw_uleb(b);
	return !b->broken;
}

bool raw_locations_next(struct raw_locations *l, struct raw_bytes *expression)
{
	uint64_t nr_bytes = l->at.end - l->at.off;
	bool is_there = !l->is_list	  ? !l->at.broken && nr_bytes
			: l->version >= 5 ? new_entry(&l->at, &nr_bytes)
					  : old_entry(&l->at, &nr_bytes);

	if (is_there) {
		*expression = l->at;
		cut(expression, nr_bytes);
		raw_skip(&l->at, nr_bytes);
	}
	l->is_broken = l->at.broken;
	return is_there && !l->is_broken;
}
