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

/*
 * Does this function of a runtime spawn tasks that stay on their thread, although nothing in them
 * tells? Of it: its file, its name as debug info has it, and its mangled name; each may be NULL.
 * may_be_merged: the compiler may have made one of it and of others that were equal.
 */
bool source_spawns_local(const char *file, const char *function, const char *linkage,
			 bool may_be_merged);

#endif
