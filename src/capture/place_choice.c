// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/place_choice.h"

#include "runtime/source.h"

/* The walk begins in the allocation of a task: what lies inside of Rust's call of the allocator is
 * the allocator, which may be the program's own as well. */
static size_t skip_allocator(const struct place_line *lines, size_t nr)
{
	size_t first = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct dwarf_place *place = lines[i].place;

		if (place && place->file && source_allocates(place->file))
			first = i + 1;
	}
	return first;
}

struct place_choice place_choose(const struct place_line *lines, size_t nr)
{
	struct place_choice choice = { 0 };
	bool is_in_runtime = true; /* from the innermost line on: what is further up waits in
				    * another root */

	for (size_t i = skip_allocator(lines, nr); i < nr; i++) {
		const struct dwarf_place *place = lines[i].place;
		struct source_function f = { .may_be_merged = lines[i].may_be_merged };
		enum source_owner owner;

		choice.is_local |= lines[i].is_in_local;
		is_in_runtime &= place != NULL;
		if (!place)
			continue;
		f.file = place->file;
		f.name = place->function;
		f.linkage = place->linkage;
		choice.is_local |= source_spawns_local(&f);
		if (is_in_runtime && !choice.scheduler)
			choice.scheduler = source_scheduler(&f);
		if (!place->file || !place->line)
			continue;
		owner = source_owner(place->file);
		is_in_runtime &= owner == SOURCE_OF_RUNTIME;
		if (owner == SOURCE_OF_LIBRARY && choice.place)
			continue;
		if (owner != SOURCE_OF_RUNTIME)
			choice.place = place;
		if (owner == SOURCE_OF_PROGRAM)
			break;
	}
	return choice;
}
