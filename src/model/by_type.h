// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A sink that adds up tasks by future type. Several tables of one type (one for each scheduler or
 * crate) are one row. A table without an exact name is a row of its own: two tables with one list
 * of candidates may well be two types.
 */
#ifndef MODEL_BY_TYPE_H
#define MODEL_BY_TYPE_H

#include "model/model.h"

struct by_type_row {
	uint16_t type;	  /* one of its types, EVENT_TYPE_NONE for tasks of no known table */
	const char *name; /* borrowed from the types; NULL when unknown */
	bool is_exact;	  /* the name is one, not a list of candidates */
	enum trace_task_kind kind;
	uint64_t nr_tasks, nr_first_seen; /* first seen: their spawn was not seen */
	uint64_t polls, max_poll_ns;
	uint64_t blocked_ns;				/* asleep in the kernel inside its runs */
	uint64_t nr_blocked_polls, max_blocked_poll_ns; /* polls that slept, the longest sleep */
	uint64_t ns[MODEL_NR_STATES];
	uint64_t wakes[MODEL_NR_CAUSES];
	uint64_t ends[MODEL_NR_ENDS]; /* by enum model_end */
};

struct by_type;

/* types is borrowed and outlives it. */
struct by_type *by_type_new(const struct trace_type *types, uint32_t nr_types);
void by_type_free(struct by_type *b);
extern const struct model_ops by_type_ops; /* the sink is the struct by_type */
/* Busiest first; good until more tasks come. */
const struct by_type_row *by_type_get_rows(struct by_type *b, size_t *nr);
struct by_type_row
by_type_total(const struct by_type *b); /* of all rows; name and type mean nothing */

#endif
