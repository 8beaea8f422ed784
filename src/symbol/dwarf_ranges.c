// SPDX-License-Identifier: MIT OR Apache-2.0
/* Code in several pieces: .debug_ranges of DWARF 2 to 4, .debug_rnglists of DWARF 5. */
#include <dwarf.h>

#include "symbol/dwarf_raw.h"

static bool old_list(const struct raw_file *f, uint64_t off, uint64_t base, uint64_t va)
{
	const struct raw_section *s = &f->sections[RAW_RANGES];
	struct raw_bytes b = { .data = s->data, .off = off, .end = s->size_bytes };

	while (off < s->size_bytes && !b.broken) {
		uint64_t from = raw_fixed(&b, 8), to = raw_fixed(&b, 8);

		if (b.broken || (!from && !to))
			break;
		if (from == UINT64_MAX)
			base = to;
		else if (va - base >= from && va - base < to)
			return true;
	}
	return false;
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

/* The next piece; false at the end of the list. An entry that only sets the base is an empty one.
 */
static bool next_piece(const struct raw_file *f, const struct raw_unit *u, struct raw_bytes *b,
		       uint64_t *base, uint64_t piece[2])
{
	piece[0] = piece[1] = 0;
	switch (raw_fixed(b, 1)) {
	case DW_RLE_base_addressx:
		*base = indexed(f, u, raw_uleb(b));
		break;
	case DW_RLE_base_address:
		*base = raw_fixed(b, 8);
		break;
	case DW_RLE_startx_endx:
		piece[0] = indexed(f, u, raw_uleb(b));
		piece[1] = indexed(f, u, raw_uleb(b));
		break;
	case DW_RLE_startx_length:
		piece[0] = indexed(f, u, raw_uleb(b));
		piece[1] = piece[0] + raw_uleb(b);
		break;
	case DW_RLE_offset_pair:
		piece[0] = *base + raw_uleb(b);
		piece[1] = *base + raw_uleb(b);
		break;
	case DW_RLE_start_end:
		piece[0] = raw_fixed(b, 8);
		piece[1] = raw_fixed(b, 8);
		break;
	case DW_RLE_start_length:
		piece[0] = raw_fixed(b, 8);
		piece[1] = piece[0] + raw_uleb(b);
		break;
	default: /* DW_RLE_end_of_list too */
		return false;
	}
	return !b->broken;
}

static bool new_list(const struct raw_file *f, const struct raw_unit *u, uint64_t off,
		     uint64_t base, uint64_t va)
{
	const struct raw_section *s = &f->sections[RAW_RNGLISTS];
	struct raw_bytes b = { .data = s->data, .off = off, .end = s->size_bytes };
	uint64_t piece[2];

	while (off < s->size_bytes && next_piece(f, u, &b, &base, piece))
		if (va >= piece[0] && va < piece[1])
			return true;
	return false;
}

bool raw_die_covers(const struct raw_file *f, const struct raw_unit *u, const struct raw_die *die,
		    uint64_t unit_low_pc, uint64_t va)
{
	if (die->has_ranges)
		return u->version >= 5 ? new_list(f, u, die->ranges_off, unit_low_pc, va)
				       : old_list(f, die->ranges_off, unit_low_pc, va);
	if (!die->has_low_pc || va < die->low_pc)
		return false;
	return die->is_high_pc_len ? va - die->low_pc < die->high_pc : va < die->high_pc;
}
