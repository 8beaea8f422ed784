// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A runtime that futrace knows: one file with one `const struct runtime`, and one line in the array
 * of known.c. `recognise` adds what it is sure of by structure alone; `give_names` may then look at
 * symbols and debug info.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "base/intern.h"
#include "base/vec.h"
#include "runtime/discover.h"
#include "runtime/source.h"
#include "runtime/known.h"
#include "symbol/dwarf.h"
#include "symbol/image.h"
#include "symbol/symtab.h"

/* A discovery under construction. Strings live in `strings`. */
struct finding {
	const struct image *img;
	const struct image *syms_img; /* that the symbols are in: the file or its debug file */
	struct symtab *syms;	      /* may be empty; NULL: not asked for yet */
	struct extents *extents;      /* of the file's functions; NULL: not asked for yet */
	struct dwarf *dwarf;	      /* NULL when there is none */
	struct intern *strings;
	VEC(struct found_runtime) runtimes;
	VEC(struct found_table) tables;
	struct found_roots roots;
	struct found_alloc allocs[2];
	uint32_t nr_allocs;
	struct found_futures futures;
	const char *mangling; /* of the tables' functions; "" unknown */
	bool was_named;	      /* there are tables, and names were looked for */
	bool has_functions;   /* debug info told the name of a table's function */
	bool has_types;	      /* debug info told a future's type, not only its name */
};

struct runtime {
	struct known_runtime known;
	/* Crates that a spawn goes through inside of it, and parts of paths that show a copy of it
	 * beside the program (a folder alone says nothing: programs have such names too). Both end
	 * with NULL. */
	const char *const *crates;
	const char *const *copies; /* NULL: none */
	void (*recognise)(struct finding *f);
	void (*give_names)(struct finding *f);
	void (*find_roots)(struct finding *f);		       /* NULL: they are not seen */
	bool (*spawns_local)(const struct source_function *f); /* of source.h; NULL: none does */
	const char *(*scheduler)(const struct source_function *f); /* the same */
	/* Says what is seen of the runtime's tasks, when all else is known. */
	void (*judge)(struct finding *f, const struct discovery *d, const struct found_runtime *r,
		      struct found_fact facts[NR_FACTS]);
	const struct task_shape *tasks; /* what they look like in memory: runtime/task.h */
	const struct leaf_rules
		*leaves; /* what they wait for: runtime/leaf_rules.h; NULL: no rules */
};

extern const struct runtime runtime_tokio, runtime_async_task;

extern const struct runtime *const runtimes[]; /* all; ends with NULL */
const struct runtime *
runtime_descriptor(const struct found_runtime *r); /* NULL: no such descriptor */

/* Reads the symbols if that was not done yet. */
const struct symtab *finding_symbols(struct finding *f);
/*
 * Is what a symbol or debug info calls a function really one, and as long? Without that nothing may
 * be changed there, and nothing concluded from its code that the agent relies on.
 */
bool finding_is_function(struct finding *f, uint64_t va, uint64_t nr_bytes);

const char *allocator_in(const struct image *img);
/* syms_img: that the symbols are in. */
enum found_memory allocator_memory(const struct image *syms_img);
/* For a runtime whose tasks are known by their memory. */
void allocator_find_functions(struct finding *f);

/* Inner futures, of a program that has tasks. dwarf: NULL when there is none. */
void futures_find(struct finding *f, struct dwarf *dwarf, const struct futures_wanted *wanted);

/* Looks for the program's own marks: the crate `futrace` is in it. */
void marks_find(const struct image *img, struct found_marks *to);

/* A copy of the string that lives as long as the discovery; control bytes are made harmless. */
const char *finding_string(struct finding *f, const char *s);

#endif
