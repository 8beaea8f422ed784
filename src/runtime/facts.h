// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a recording tells of a runtime's tasks, and what it does not: the matrix that `futrace
 * doctor` prints. Each runtime fills it in (struct runtime's `judge`); every entry has a value.
 */
#ifndef RUNTIME_FACTS_H
#define RUNTIME_FACTS_H

enum fact {
	FACT_POLLS,
	FACT_KINDS,
	FACT_SPAWNS,
	FACT_PLACES, /* of spawns */
	FACT_AWAITS, /* where tasks stand when they are polled */
	FACT_WAKES,
	FACT_PARKS,
	FACT_BLOCK_ON,
	FACT_BLOCKING,
	FACT_ENDS,
	FACT_PANICS,
	NR_FACTS
};

enum fact_how { HOW_EXACT, HOW_SOME, HOW_FIRST_SEEN, HOW_NOT };

struct found_fact {
	enum fact_how how;
	const char *text;   /* what of it, or why not; NULL: nothing to add */
	const char *remedy; /* what to do to see more; NULL: nothing can be done */
};

struct discovery;
struct found_runtime;

/* Of each runtime alike: it is the debug info that tells. */
struct found_fact fact_awaits(const struct discovery *d, const struct found_runtime *r);
struct found_fact fact_no_lines(const struct discovery *d);

#endif
