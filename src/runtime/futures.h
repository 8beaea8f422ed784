// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by futures.c (which functions poll futures) and futures_plan.c (which can be hooked). */
#ifndef RUNTIME_FUTURES_H
#define RUNTIME_FUTURES_H

#include "base/map.h"
#include "runtime/runtime.h"
#include "symbol/code.h"

/* A function that polls a future. */
struct candidate {
	uint64_t va, size_bytes;
	const char *name;  /* of the future; lives as long as the discovery */
	const char *file;  /* of its source, or NULL */
	uint64_t type_off; /* of the result's type in debug info, 0: not known */
	uint32_t line, nr_tables;
	enum trace_future_seen seen;
	bool is_generated;
	bool is_merged;	   /* it is another function, too, that polls none */
	bool is_elsewhere; /* its address stands in data that is no table of a future */
};

/* {drop, size, align, poll} */
struct future_table {
	uint64_t va;
	uint64_t words[4];
	uint32_t candidate;
	bool has_drop;
};

struct futures_search {
	struct finding *f;
	struct dwarf *dwarf; /* NULL: there is none */
	bool has_coroutines; /* debug info tells them */
	VEC(struct candidate) candidates;
	VEC(struct future_table) tables;
	struct map by_va; /* index into candidates */
};

bool futures_is_wanted(const struct futures_wanted *w, const struct candidate *c);
/* Adds those that are wanted to the plan, each if it can be hooked. */
void futures_plan(struct futures_search *s, const struct futures_wanted *wanted);

#endif
