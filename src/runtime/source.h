// SPDX-License-Identifier: MIT OR Apache-2.0
/* Whose source is it? Told by its path, as debug info has it. */
#ifndef RUNTIME_SOURCE_H
#define RUNTIME_SOURCE_H

#include <stdbool.h>

enum source_owner {
	SOURCE_OF_RUNTIME, /* an async runtime, or Rust's own libraries */
	SOURCE_OF_LIBRARY, /* a crate that cargo fetched */
	SOURCE_OF_PROGRAM,
};

enum source_owner source_owner(const char *file);
/* Is it the file by whose functions all of Rust's code calls the allocator? */
bool source_allocates(const char *file);
/* The same of a path in the source, "tokio::time::sleep", where the file is not known: a library of
 * an unknown name counts as the program's own. */
enum source_owner source_owner_of_path(const char *path);

/* A function on the stack of a spawn; each name may be NULL. */
struct source_function {
	const char *file;
	const char *name;    /* as debug info has it, with its type arguments */
	const char *linkage; /* mangled */
	bool may_be_merged; /* the compiler may have made one of it and of others that were equal */
};

/* Does it spawn tasks that stay on their thread, although nothing in them tells? */
bool source_spawns_local(const struct source_function *f);
/* The flavour of the runtime whose block_on it is; NULL: it is none, or that of any. */
const char *source_scheduler(const struct source_function *f);

#endif
