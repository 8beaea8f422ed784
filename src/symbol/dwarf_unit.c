// SPDX-License-Identifier: MIT OR Apache-2.0
/* Headers of units, DWARF 2 to 5. */
#include <dwarf.h>

#include "base/vec.h"
#include "symbol/dwarf_raw.h"

static bool read_unit(const struct raw_file *f, uint64_t off, struct raw_unit *u)
{
	struct raw_bytes b = { .data = f->sections[RAW_INFO].data,
			       .off = off,
			       .end = f->sections[RAW_INFO].size_bytes };
	uint64_t len = raw_fixed(&b, 4);
	unsigned type = DW_UT_compile;

	*u = (struct raw_unit){ .off = off, .offset_bytes = 4 };
	if (len == 0xffffffff) {
		u->offset_bytes = 8;
		len = raw_fixed(&b, 8);
	}
	if (b.broken || len > b.end - b.off)
		return false;
	u->end = b.end = b.off + len;
	u->version = raw_fixed(&b, 2);
	if (u->version >= 5) {
		type = raw_fixed(&b, 1);
		u->addr_bytes = raw_fixed(&b, 1);
		u->abbrev_off = raw_fixed(&b, u->offset_bytes);
	} else {
		u->abbrev_off = raw_fixed(&b, u->offset_bytes);
		u->addr_bytes = raw_fixed(&b, 1);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		raw_skip(&b, 8);
	u->die_off = b.off;
	if (b.broken || u->version < 2 || u->version > 5 || u->addr_bytes != 8 ||
	    type == DW_UT_type || type == DW_UT_split_type)
		u->version = 0; /* skipped, but the next one can be found */
	return true;
}

void raw_read_units(struct raw_file *f)
{
	VEC(struct raw_unit) units = { 0 };
	uint64_t off = 0;

	while (off < f->sections[RAW_INFO].size_bytes) {
		struct raw_unit u;

		if (!read_unit(f, off, &u)) {
			f->nr_broken++;
			break;
		}
		if (u.version)
			vec_push(&units, u);
		off = u.end;
	}
	f->units = units.v;
	f->nr_units = units.nr;
}

struct raw_unit *raw_unit_of(const struct raw_file *f, uint64_t info_off)
{
	size_t u = partition_point(i, f->nr_units, f->units[i].end <= info_off);

	return u < f->nr_units && f->units[u].die_off <= info_off ? &f->units[u] : NULL;
}
