// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Debug info, asked: what is the function at this address, and of which type is its first type
 * parameter? That is how a task table's poll function tells the future it polls. Also where a
 * member lies in such a type, and which lines of source an address stands for.
 */
#ifndef SYMBOL_DWARF_H
#define SYMBOL_DWARF_H

#include "base/err.h"

struct dwarf;

/* All strings live until dwarf_close. */
struct dwarf_function {
	uint64_t va;		  /* in: where it begins */
	const char *name;	  /* with its type arguments: "poll<T, S>"; NULL: not found */
	const char *decl_file;	  /* of the function itself, or NULL */
	bool has_type;		  /* the parameter's type is described (debug = 2) */
	uint64_t type_off;	  /* … and where: for dwarf_member */
	uint64_t type_bytes;	  /* its size, or that of what it boxes; 0: not known */
	const char *env_path;	  /* the coroutine or closure inside of that type, or NULL */
	const char *body_linkage; /* mangled name of that coroutine's or closure's code, or NULL */
	uint64_t body_va;	  /* where that code begins, 0 when it was inlined everywhere */
	const char *file;	  /* where that coroutine or closure is written, or NULL */
	uint32_t line;
};

/* As objcopy --compress-debug-sections=zlib-gnu calls it. */
#define DWARF_OLD_PACKED ".zdebug_info"

/*
 * NULL without an error when the file has no debug info, or none that can be read (*why then says
 * so).
 */
struct dwarf *dwarf_open(const char *path, const char **why);
void dwarf_close(struct dwarf *d);

/* fns must be sorted by va. Fills in what is known. */
void dwarf_find(struct dwarf *d, struct dwarf_function *fns, size_t nr);

/*
 * Follows a path through a type's members: "future.tag", "ptr.*.len", where `*` goes behind the
 * pointer that was reached; members of an enum's variants count as its own. Each pointer on the way
 * has an offset from where the one before points to, and the last is the offset of what was asked
 * for.
 */
#define DWARF_MAX_OFFS 3
struct dwarf_member {
	uint64_t offs[DWARF_MAX_OFFS];
	unsigned nr_offs;
};
bool dwarf_member(struct dwarf *d, uint64_t type_off, const char *path, struct dwarf_member *to);
/* A function by which a future is polled. Strings live until dwarf_close. */
struct dwarf_poll {
	uint64_t va, size_bytes; /* va 0: it is a part of others; size 0: it does not tell */
	bool is_coroutine;	 /* else it is written by hand, or no future's at all */
	/* of a coroutine its type: "app::fetch::{async_fn_env#0}<u32>"; NULL: it does not tell */
	const char *env_path;
	const char *linkage_name; /* or NULL */
	bool is_inlined;  /* in other places its code is a part of others; only if linkage_name is
			     known this tells of all places */
	const char *file; /* where it is written, or NULL */
	uint32_t line;
	uint64_t type_off; /* of what it returns, 0: not known */
	uint64_t off;	   /* of its entry in debug info */
};

/*
 * The code of all coroutines, and all functions called "poll", sorted by address: what has one, and
 * what was made a part of others, which may have one, too. The caller frees them. A dwarf that was
 * asked nothing before.
 */
size_t dwarf_find_polls(struct dwarf *d, struct dwarf_poll **polls);

/*
 * The type that a function called "poll" polls, with its type arguments, as debug info names it. A
 * string to be freed; NULL: it has no argument that is a Pin<&mut T>.
 */
char *dwarf_read_polled(struct dwarf *d, uint64_t off);

/* How a Poll<T> says that it is Pending: by a number of nr_bytes at off, in size_bytes. */
struct dwarf_poll_type {
	uint64_t size_bytes, off, pending;
	uint32_t nr_bytes;
};

/* False: the type is no Poll, or is described in a way that is not understood. */
bool dwarf_read_poll_type(struct dwarf *d, uint64_t type_off, struct dwarf_poll_type *type);

/* A line of source. Strings live until dwarf_close; NULL and line 0: not known. */
struct dwarf_place {
	const char *file;
	const char *function; /* that the line is in, with its type arguments: "new<T, S>" */
	const char *linkage;  /* its mangled name; bare line tables have none */
	uint32_t line;
};

/* A point in the code, and the lines that it stands for: its own, then those where the functions
 * that it was inlined with were called, from the inside out. */
struct dwarf_point {
	uint64_t va;		    /* in */
	struct dwarf_place *places; /* out; to be freed */
	size_t nr_places;
};

/* points must be sorted by va. */
void dwarf_find_places(struct dwarf *d, struct dwarf_point *points, size_t nr);
/* Does it describe types at all (debug = 2), or only functions and lines? */
bool dwarf_has_types(const struct dwarf *d);
/* Is some of it elsewhere, in .dwo files? */
bool dwarf_is_split(struct dwarf *d);
uint64_t dwarf_nr_broken(const struct dwarf *d);

#endif
