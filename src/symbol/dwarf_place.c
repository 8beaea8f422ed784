// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which lines of source does an address stand for? The line table tells the innermost; the
 * functions that were inlined there tell where each was called.
 */
#include <dwarf.h>
#include <string.h>

#include "symbol/dwarf_index.h"

#define MAX_CALLS 64 /* functions inlined into each other at one point */

/* A call that was inlined around the point. */
struct call {
	uint64_t file, line;
	uint64_t function_off; /* of the DIE that has the name of what was called; 0: none */
};

struct point {
	struct call calls[MAX_CALLS]; /* from the outside in */
	uint32_t nr_calls;
	uint64_t function_off; /* of the function around all */
	bool is_found;
};

struct walk {
	struct dwarf *d;
	struct raw_unit *unit;
	uint64_t unit_low_pc, line_off;
	struct dwarf_point *points;
	struct point *found;
	size_t nr, first, last;	    /* [first, last): points of the function that is open */
	unsigned depth, open_depth; /* of that function */
};

static size_t first_from(const struct walk *w, uint64_t va)
{
	return partition_point(i, w->nr, w->points[i].va < va);
}

static bool covers(const struct walk *w, const struct raw_die *die, size_t i)
{
	return raw_die_covers(&w->d->raw, w->unit, die, w->unit_low_pc, w->points[i].va);
}

/* A function in one piece has neighbours only; of one in several pieces all points are looked at.
 */
static void open_function(struct walk *w, const struct raw_die *die)
{
	uint64_t high = die->is_high_pc_len ? die->low_pc + die->high_pc : die->high_pc;

	w->first = die->has_ranges ? 0 : first_from(w, die->low_pc);
	w->last = die->has_ranges ? w->nr : first_from(w, high);
	w->open_depth = w->depth;
	if (!die->has_low_pc && !die->has_ranges)
		w->last = w->first;
	for (size_t i = w->first; i < w->last; i++)
		if (covers(w, die, i)) {
			w->found[i].is_found = true;
			w->found[i].nr_calls = 0;
			w->found[i].function_off = die->off;
		}
}

static void on_die(struct walk *w, const struct raw_die *die)
{
	switch (die->tag) {
	case DW_TAG_compile_unit:
		w->unit_low_pc = die->low_pc;
		w->line_off = die->line_off;
		break;
	case DW_TAG_subprogram:
		open_function(w, die);
		break;
	case DW_TAG_inlined_subroutine:
		for (size_t i = w->first; i < w->last; i++) {
			struct point *p = &w->found[i];

			if (p->is_found && p->nr_calls < MAX_CALLS && covers(w, die, i))
				p->calls[p->nr_calls++] =
					(struct call){ die->call_file, die->call_line,
						       die->has_origin ? die->origin_off : 0 };
		}
		break;
	}
}

static void walk_unit(struct walk *w)
{
	const uint64_t functions = TAG(DW_TAG_compile_unit) | TAG(DW_TAG_subprogram);
	struct raw_cursor c;
	struct raw_die die;
	int what;

	if (!dwarf_cursor(w->d, w->unit->die_off, &c))
		return;
	/* Outside of the functions in question nothing needs to be read. */
	while ((what = raw_next(
			&c, functions | (w->first < w->last ? TAG(DW_TAG_inlined_subroutine) : 0),
			&die)) != 0) {
		if (what == 2) {
			if (w->depth)
				w->depth--;
			if (w->depth <= w->open_depth)
				w->first = w->last = 0;
			continue;
		}
		if (die.tag < 64 && (functions | TAG(DW_TAG_inlined_subroutine)) >> die.tag & 1)
			on_die(w, &die);
		w->depth += die.has_children;
	}
}

/* Its own names, or those of the DIE that it is an instance of. */
static void name_function(struct dwarf *d, uint64_t off, struct dwarf_place *to)
{
	struct raw_cursor c;
	struct raw_die die;

	for (unsigned hops = 0; off && hops < 4; hops++) {
		if (!dwarf_cursor(d, off, &c) || raw_next(&c, TAG(DW_TAG_subprogram), &die) != 1 ||
		    die.tag != DW_TAG_subprogram)
			return;
		to->function = die.name;
		to->linkage = die.linkage_name;
		if (die.name || !die.has_origin)
			return;
		off = die.origin_off;
	}
}

static void fill_places(struct walk *w, struct dwarf_point *to, const struct point *from,
			const struct raw_row *row)
{
	to->nr_places = from->nr_calls + 1;
	to->places = xcalloc(to->nr_places, sizeof(*to->places));
	to->places[0].file = dwarf_file_name(w->d, w->unit, row->file);
	to->places[0].line = row->line;
	for (size_t k = 0; k < from->nr_calls; k++) {
		const struct call *call = &from->calls[from->nr_calls - k - 1];

		name_function(w->d, call->function_off, &to->places[k]);
		to->places[k + 1].file = dwarf_file_name(w->d, w->unit, call->file);
		to->places[k + 1].line = call->line;
	}
	name_function(w->d, from->function_off, &to->places[from->nr_calls]);
}

static bool has_hits(const struct walk *w)
{
	for (size_t i = 0; i < w->nr; i++)
		if (w->found[i].is_found)
			return true;
	return false;
}

/* The unit is read: puts together what is known of its points. */
static void finish_unit(struct walk *w)
{
	struct raw_row *rows = xcalloc(w->nr + 1, sizeof(*rows));

	for (size_t i = 0; i < w->nr; i++)
		rows[i].va = w->points[i].va;
	raw_line_rows(&w->d->raw, w->line_off, rows, w->nr);
	for (size_t i = 0; i < w->nr; i++) {
		struct dwarf_point *to = &w->points[i];
		struct point *from = &w->found[i];

		if (from->is_found && !to->places)
			fill_places(w, to, from, &rows[i]);
		from->is_found = false;
	}
	free(rows);
}

void dwarf_find_places(struct dwarf *d, struct dwarf_point *points, size_t nr)
{
	struct dwarf_function *fns = xcalloc(nr + 1, sizeof(*fns));
	bool *wanted = xcalloc(d->raw.nr_units + 1, sizeof(*wanted));
	struct point *found = xcalloc(nr + 1, sizeof(*found));
	bool has_aranges = d->raw.sections[RAW_ARANGES].size_bytes > 0;

	for (size_t i = 0; i < nr; i++)
		fns[i].va = points[i].va;
	dwarf_choose_units(d, fns, nr, wanted);
	for (size_t i = 0; i < d->raw.nr_units; i++) {
		struct walk w = {
			.d = d, .unit = &d->raw.units[i], .points = points, .found = found, .nr = nr
		};

		if (has_aranges && !wanted[i])
			continue;
		walk_unit(&w);
		if (has_hits(&w)) /* its line table is read for them alone */
			finish_unit(&w);
	}
	free(found);
	free(wanted);
	free(fns);
}
