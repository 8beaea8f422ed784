// SPDX-License-Identifier: MIT OR Apache-2.0
/* Whose source is it? Told by its path, as debug info has it. */
#ifndef RUNTIME_SOURCE_H
#define RUNTIME_SOURCE_H

enum source_owner {
	SOURCE_OF_RUNTIME, /* an async runtime, or Rust's own libraries */
	SOURCE_OF_LIBRARY, /* a crate that cargo fetched */
	SOURCE_OF_PROGRAM,
};

enum source_owner source_owner(const char *file);

#endif
