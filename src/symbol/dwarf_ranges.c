// SPDX-License-Identifier: MIT OR Apache-2.0
/* Code in several pieces: .debug_ranges of DWARF 2 to 4, .debug_rnglists of DWARF 5. */
#include <dwarf.h>

#include "symbol/dwarf_raw.h"

/* The next piece; false at the end of the list. Those that only set the base are empty ones. */
static bool old_piece(struct raw_ranges *r)
{
	uint64_t from = raw_fixed(&r->at, 8), to = raw_fixed(&r->at, 8);

	r->from = r->to = 0;
	if (r->at.broken || (!from && !to))
		return false;
	if (from == UINT64_MAX) {
		r->base = to;
	} else {
		r->from = r->base + from;
		r->to = r->base + to;
	}
	return true;
}

static uint64_t indexed(const struct raw_file *f, const struct raw_unit *u, uint64_t index)
{
	const struct raw_section *s = &f->sections[RAW_ADDR];
	struct raw_bytes b = { .data = s->data, .end = s->size_bytes };

	if (index > s->size_bytes)
		return 0;
	raw_skip(&b, u->addr_base + index * 8);
	return raw_fixed(&b, 8);
}

static bool new_piece(struct raw_ranges *r)
{
	struct raw_bytes *b = &r->at;

	r->from = r->to = 0;
	switch (raw_fixed(b, 1)) {
	case DW_RLE_base_addressx:
		r->base = indexed(r->file, r->unit, raw_uleb(b));
		break;
	case DW_RLE_base_address:
		r->base = raw_fixed(b, 8);
		break;
	case DW_RLE_startx_endx:
		r->from = indexed(r->file, r->unit, raw_uleb(b));
		r->to = indexed(r->file, r->unit, raw_uleb(b));
		break;
	case DW_RLE_startx_length:
		r->from = indexed(r->file, r->unit, raw_uleb(b));
		r->to = r->from + raw_uleb(b);
		break;
	case DW_RLE_offset_pair:
		r->from = r->base + raw_uleb(b);
		r->to = r->base + raw_uleb(b);
		break;
	case DW_RLE_start_end:
		r->from = raw_fixed(b, 8);
		r->to = raw_fixed(b, 8);
		break;
	case DW_RLE_start_length:
		r->from = raw_fixed(b, 8);
		r->to = r->from + raw_uleb(b);
		break;
	default: /* DW_RLE_end_of_list too */
		return false;
	}
	return !b->broken;
}

void raw_ranges_init(struct raw_ranges *r, const struct raw_file *f, const struct raw_unit *u,
		     const struct raw_die *die, uint64_t unit_low_pc)
{
	const struct raw_section *s = &f->sections[u->version >= 5 ? RAW_RNGLISTS : RAW_RANGES];

	*r = (struct raw_ranges){ .file = f, .unit = u, .base = unit_low_pc };
	if (die->has_ranges) {
		r->kind = u->version >= 5 ? RAW_NEW_RANGES : RAW_OLD_RANGES;
		r->at = (struct raw_bytes){ .data = s->data, .end = s->size_bytes };
		raw_skip(&r->at, die->ranges_off);
	} else if (die->has_low_pc) {
		r->kind = RAW_ONE_RANGE;
		r->from = die->low_pc;
		r->to = die->is_high_pc_len ? die->low_pc + die->high_pc : die->high_pc;
	}
}

bool raw_ranges_next(struct raw_ranges *r)
{
	if (r->kind == RAW_OLD_RANGES)
		return old_piece(r);
	if (r->kind == RAW_NEW_RANGES)
		return new_piece(r);
	if (r->kind == RAW_NO_RANGE)
		return false;
	r->kind = RAW_NO_RANGE;
	return true;
}

bool raw_die_covers(const struct raw_file *f, const struct raw_unit *u, const struct raw_die *die,
		    uint64_t unit_low_pc, uint64_t va)
{
	struct raw_ranges r;

	raw_ranges_init(&r, f, u, die, unit_low_pc);
	while (raw_ranges_next(&r))
		if (va >= r.from && va < r.to)
			return true;
	return false;
}
