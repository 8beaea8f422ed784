// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where a member lies in a type, by the names on the way to it. */
#include <dwarf.h>
#include <string.h>

#include "symbol/dwarf_index.h"

#define MAX_DIES 20000 /* of one type */

static bool is_named(const struct raw_die *die, const char *name, size_t len)
{
	return die->name && strncmp(die->name, name, len) == 0 && !die->name[len];
}

/*
 * The member of the type whose DIE the cursor has just read. Only variants are entered: what else
 * has members here is another type, written inside of this one.
 */
static bool find_member(struct raw_cursor *c, const char *name, size_t len, struct raw_die *die)
{
	const uint64_t tags = TAG(DW_TAG_member);
	unsigned depth = 1, foreign = 0; /* foreign: the depth of what was not entered */

	for (unsigned i = 0; i < MAX_DIES && depth; i++) {
		int what = raw_next(c, tags, die);

		if (what == 0)
			return false;
		if (what == 2) {
			foreign = foreign == depth ? 0 : foreign;
			depth--;
			continue;
		}
		if (!foreign && die->tag == DW_TAG_member && is_named(die, name, len))
			return die->has_type;
		depth += die->has_children;
		if (!foreign && die->has_children && die->tag != DW_TAG_variant_part &&
		    die->tag != DW_TAG_variant)
			foreign = depth;
	}
	return false;
}

bool dwarf_member(struct dwarf *d, uint64_t type_off, const char *path, struct dwarf_member *to)
{
	const uint64_t tags = TAG(DW_TAG_structure_type) | TAG(DW_TAG_pointer_type);
	struct raw_cursor c;
	struct raw_die die;

	*to = (struct dwarf_member){ .nr_offs = 1 };
	for (size_t len; *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		if (!dwarf_cursor(d, type_off, &c) || raw_next(&c, tags, &die) != 1)
			return false;
		if (*path == '*') {
			if (die.tag != DW_TAG_pointer_type || !die.has_type ||
			    to->nr_offs == DWARF_MAX_OFFS)
				return false;
			to->nr_offs++;
		} else if (die.tag != DW_TAG_structure_type || !die.has_children ||
			   !find_member(&c, path, len, &die)) {
			return false;
		} else {
			to->offs[to->nr_offs - 1] += die.member_off;
		}
		type_off = die.type_off;
	}
	return true;
}
