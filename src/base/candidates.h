// SPDX-License-Identifier: MIT OR Apache-2.0
/* Types that the compiler, or the linker, has made one. */
#ifndef BASE_CANDIDATES_H
#define BASE_CANDIDATES_H

#include "base/strbuf.h"

/*
 * Where the compiler merged types, their names are a list, "a | b | ?": the question mark stands
 * for those that have no name left. Calls fn for each that has one.
 */
void candidates_each(const char *names, void (*fn)(void *arg, const char *name, size_t len),
		     void *arg);
/* Appends how such a type is called, by all that have one line for it: "a or 7 others". */
void label_candidates(struct strbuf *out, const char *names, uint32_t nr_candidates);

#endif
