// SPDX-License-Identifier: MIT OR Apache-2.0
/* Strings by number: equal strings get the same number, counted from 0, and are kept once. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/util.h"

struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *in);
uint32_t intern_put(struct intern *in, const char *s, size_t len);
uint32_t intern_puts(struct intern *in, const char *s);
const char *intern_get(const struct intern *in,
		       uint32_t id); /* NULL when there is no such number */
uint32_t intern_count(const struct intern *in);

#endif
