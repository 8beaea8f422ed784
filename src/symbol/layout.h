// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How values of the program's types lie in memory, as its debug info tells (debug = 2): enough to
 * follow a future down to what it waits for. rustc describes an `async fn` as an enum whose
 * variants are its await points and whose member `__awaitee` is the next future down; that survives
 * optimisation.
 *
 * Types are numbered when they are first met and resolved when they are first asked for: only what
 * can be reached from the tasks of the program is ever looked at. One type has one number, although
 * debug info repeats it in every unit that uses it. What cannot be read is LAYOUT_OPAQUE.
 */
#ifndef SYMBOL_LAYOUT_H
#define SYMBOL_LAYOUT_H

#include "base/err.h"
#include "base/util.h"

#define LAYOUT_NONE UINT32_MAX /* no such type */

enum layout_kind {
	LAYOUT_OPAQUE, /* nothing is known but perhaps its name and size */
	LAYOUT_NUMBER,
	LAYOUT_POINTER, /* thin: Box<T>, &mut T, NonNull's inner *const T; fat ones are structs */
	LAYOUT_ARRAY,
	LAYOUT_STRUCT,	  /* tuples, unions and environments of closures too */
	LAYOUT_ENUM,	  /* Rust's enums with and without data */
	LAYOUT_COROUTINE, /* async fn, block or closure */
};

enum layout_number { LAYOUT_UNSIGNED, LAYOUT_SIGNED, LAYOUT_BOOL, LAYOUT_CHAR, LAYOUT_FLOAT };

struct layout_member {
	const char *name; /* "deadline", "__0", "_ref__x"; "" when it has none */
	uint32_t type;
	uint64_t off;
};

/* Of an enum: one of its cases. Of a coroutine: not started, done, panicked, or an await point. */
struct layout_variant {
	const char *name; /* "Some", "Suspend0" */
	uint64_t value;
	bool is_default; /* it is this one when the discriminant has no other's value */
	const struct layout_member *members;
	uint32_t nr_members;
	/* Of a coroutine. Members from nr_saved on are its captured variables again, which may have
	 * been moved away; awaitee is the index of the future it waits for, -1: none. */
	uint32_t nr_saved;
	int32_t awaitee;
	const char *file; /* of the await, "" when unknown */
	/* of the await; when last_line is not 0 it is written by a macro, somewhere in these lines
	 */
	uint32_t line, last_line;
};

struct layout_param {
	const char *name; /* "T" */
	uint32_t type;
};

struct layout {
	const char *name; /* with module path and arguments: "tokio::time::sleep::Sleep" */
	enum layout_kind kind;
	enum layout_number number;
	uint64_t size_bytes;
	uint64_t align;			     /* 0: not known */
	const struct layout_member *members; /* of a struct; of an enum those outside of variants */
	uint32_t nr_members;
	const struct layout_variant *variants;
	uint32_t nr_variants;
	uint64_t discr_off; /* of the discriminant */
	uint32_t discr_bytes;
	uint32_t target;      /* of a pointer; of an array its element */
	uint64_t nr_elements; /* of an array */
	const struct layout_param *params;
	uint32_t nr_params;
	bool is_future; /* a coroutine, or has a poll or poll_next of its own: `Pin<&mut Self>` */
	/* of a coroutine */
	/* that it is the body of, as people call it: "shop::checkout", "shop::main::{async
	 * block#0}"
	 */
	const char *function;
	const char *file;
	uint32_t first_line, last_line; /* of its body */
	/* where its code begins; several when optimisation made copies, none when all were inlined
	 */
	const uint64_t *bodies;
	uint32_t nr_bodies;
};

struct layouts;

/*
 * Debug info of the ELF file at `path`, or of the separate file that belongs to it. NULL when it
 * has none that describes types. *why then is a sentence that says what there is and what to
 * change, and lives for ever; it is "" when all is well, and set as well when a part is missing.
 * cache_dir: where the index is kept, NULL: nowhere.
 */
struct layouts *layouts_open(const char *path, const char *cache_dir, const char **why);
void layouts_close(struct layouts *l);

/* Valid until layouts_close; never NULL: for LAYOUT_NONE an opaque one without a name. */
const struct layout *layouts_get(struct layouts *l, uint32_t type);

/* Type argument `param` ("T") of the function that begins at va, as of `poll<T, S>`. */
uint32_t layouts_of_function(struct layouts *l, uint64_t va, const char *param);
/*
 * Where a function keeps a value that it has pinned, while the code from va on runs: off bytes from
 * the stack pointer, or from rbp. has_pointer: a pointer to it lies in the same frame. Without
 * is_placed, it is not known where.
 */
struct layout_pinned {
	uint64_t va, end_va;
	uint32_t type;
	bool frame_by_rbp;    /* the function keeps its frame by rbp */
	uint32_t frame_bytes; /* off holds while the frame is as large as this; 0: it always does */
	bool is_placed, by_rbp, has_pointer;
	int32_t off, pointer_off;
};

enum layout_hunt {
	LAYOUT_HUNT_VALUE,    /* the value */
	LAYOUT_HUNT_ARGUMENT, /* it is not pinned there, but a pointer to it is an argument of the
				 function that begins at va, and what is told is that pointer */
	LAYOUT_HUNT_CODE,     /* nothing but the type, and where the function's code lies */
};

/*
 * What debug info says of the function that begins at va, and of those inlined into it, if their
 * mangled name has `function` in it; the value's type is type argument `param`. Functions come
 * before those that are inlined into them. The caller frees what it finds.
 */
size_t layouts_pinned(struct layouts *l, uint64_t va, const char *function, const char *param,
		      enum layout_hunt what, struct layout_pinned **out);
/*
 * Was a function of that name, a part of the mangled one, inlined into the one that begins at va?
 * True also when that is not known.
 */
bool layouts_inlines(struct layouts *l, uint64_t va, const char *function);
/* The concrete type behind a `dyn Trait` whose table lies at va. */
uint32_t layouts_of_vtable(struct layouts *l, uint64_t va);
/* Where all such tables lie: the i-th, in the order of addresses; UINT64_MAX behind the last. */
uint64_t layouts_vtable(const struct layouts *l, uint32_t i);
/* By its full name. */
uint32_t layouts_named(struct layouts *l, const char *name);
uint64_t layouts_nr_broken(const struct layouts *l); /* parts that could not be read */

/* The member of a struct, or NULL. */
const struct layout_member *layout_member(const struct layout *t, const char *name);
/* The variant that a discriminant stands for, or NULL. */
const struct layout_variant *layout_variant(const struct layout *t, uint64_t value);

#endif
