// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Patterns of users for names of types and functions. '*' stands for any text and '?' for any
 * character; all else stands for itself, brackets too, for such names are full of them. For the
 * same reason a comma inside of brackets does not end an item of a list.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/err.h"

/* Of the pattern's first len bytes: does the whole text fit? */
bool pattern_fits(const char *pattern, size_t len, const char *text);
/* The same of all of it; where it has neither '*' nor '?', a part of the text will do. */
bool pattern_fits_part(const char *pattern, const char *text);
/* Up to the comma that ends the first item of a list, or to its end. */
size_t pattern_item_len(const char *list);
/* ERR_USAGE of an item that is empty, or that runs into the next one, as "Vec<,kind=task" does. */
int pattern_item_check(const char *item, size_t len, struct err *e);

#endif
