// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which lines of source addresses of a file stand for, as plain facts: like a reading
 * (future/reading.h), made by a worker, packed, and remembered.
 */
#ifndef FUTURE_LINES_H
#define FUTURE_LINES_H

#include "base/vec.h"
#include "future/reading.h"
#include "symbol/dwarf.h"

struct lines_request {
	uint64_t *points;    /* calls; sorted and made unique by lines_sort */
	uint64_t *locations; /* of core::panic::Location in read-only data, the same */
	size_t nr_points, nr_locations;
};

struct lines_point {
	uint64_t va;
	uint32_t first_place, nr_places;
};

struct lines_location {
	uint64_t va;
	const char *file; /* "": there is none */
	uint32_t line;
};

struct lines_range {
	uint64_t va, end_va;
};

struct lines {
	VEC(struct lines_point) points;	      /* sorted by va */
	VEC(struct dwarf_place) places;	      /* from the inside out */
	VEC(struct lines_location) locations; /* sorted by va */
	/* Code by which tasks are spawned that stay on their thread, by symbols. */
	VEC(struct lines_range) local;
	struct intern *strings;
	char *data;
};

void lines_sort(struct lines_request *q);
/*
 * Appends all that was asked for. debug_path: separate file with its debug info, or "". depth: that
 * of the reading.
 */
void lines_make(const char *path, const char *debug_path, enum discover_depth depth,
		const struct lines_request *q, struct strbuf *answer);
struct lines *lines_unpack(struct strbuf *data); /* takes the data; NULL: broken */
void lines_free(struct lines *l);
char *lines_key(const struct fingerprint *f, const struct fingerprint *debug);

/* Is all that is asked for there? */
bool lines_have(const struct lines *l, const struct lines_request *q);
const struct lines_point *lines_at(const struct lines *l, uint64_t va);		 /* or NULL */
const struct lines_location *lines_location(const struct lines *l, uint64_t va); /* or NULL */
bool lines_is_local(const struct lines *l, uint64_t va);

#endif
