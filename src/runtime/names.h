// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions in a table's slots are instances of one future type and of other types that say who
 * schedules it. Debug info and v0 symbols spell them out. Compiler and linker merge equal
 * functions, though, and then only one of their names may survive. So a name is believed only where
 * the function serves one table.
 */
#ifndef RUNTIME_NAMES_H
#define RUNTIME_NAMES_H

#include "base/map.h"
#include "runtime/runtime.h"
#include "symbol/demangle.h"

#define NAMES_MAX_ARGS 4
/* A task of a boxed future has room for this much at most, if its output is not large. */
#define NAMES_MAX_BOX_ROOM 64

/* What a runtime's tables are like. */
struct naming {
	enum wire_table_kind kind;
	/* slots whose function depends on the future's type, the most telling first */
	const uint8_t *slots;
	size_t nr_slots;
	/* Is it one in this table? NULL: all are. */
	bool (*has_slot)(const struct found_table *t, unsigned slot);
	size_t nr_args; /* type arguments that such a function has; the first is the future */
	/* The text of a v0 symbol from the name on whose arguments these are; NULL: another's. */
	const char *(*v0_holder)(const char *text);
	/* Sets name, kind and scheduler of a table from its arguments. */
	void (*set)(struct finding *f, struct found_table *t, const struct span *args);
	/* Of a future whose type is not certain: what room its table shows; 0 unknown. */
	uint64_t (*room)(const struct found_table *t);
	/* Is the coroutine or closure that was found inside of the future the executor's own, so
	 * that its place says nothing? May be NULL. */
	bool (*is_executors)(const char *env_path);
	/* Functions that write a table's address into a task: how their names begin, the last
	 * being NULL, and a part of the path of their source. */
	const char *const *makers;
	const char *makers_source;
	/* Told of all functions that debug info knows, sorted by address; may be NULL. */
	void (*found)(struct finding *f, struct dwarf_function *fns, size_t nr);
};

/* Where a table has the most telling function. */
unsigned names_first_slot(const struct naming *n, const struct found_table *t);

/* All that is the same for every runtime: room, debug info, v0 symbols. False: there is no table to
 * name. */
bool names_by_rules(struct finding *f, const struct naming *n);

/* A table whose functions all serve other tables too: every name that they have is possible. */
void names_are_merged(struct finding *f, const struct naming *n, struct found_table *t,
		      uint32_t nr_users);

/*
 * merged.c: fat LTO merges whole tables. Adds the types that share one, as debug info has them at
 * the places where a task gets its table.
 */
/* Without LTO merged functions keep their names, and some address has two. */
bool names_may_be_lost(const struct symtab *syms);
void names_by_makers(struct finding *f, const struct naming *n, struct dwarf_function *fns,
		     size_t nr);

/* Among functions sorted by address; NULL when it is not among them. */
struct dwarf_function *names_find(struct dwarf_function *fns, size_t nr, uint64_t va);

/* All tables of one kind. */
#define names_each(t, f, of)       \
	vec_each (t, &(f)->tables) \
		if (t->plan.kind == (of))

#endif
