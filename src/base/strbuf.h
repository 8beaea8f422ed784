// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A growing string. s is always NUL-terminated and never NULL, also when empty, so it can be
 * printed at any time; len does not count the NUL. Bytes may be anything, NUL included.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include "base/util.h"

struct strbuf {
	char *s;
	size_t len;
	size_t cap;
};

extern char strbuf_empty[];
#define STRBUF_INIT               \
	{                         \
		.s = strbuf_empty \
	}

void strbuf_init(struct strbuf *b);
void strbuf_release(struct strbuf *b);
void strbuf_reset(struct strbuf *b);		 /* empty, memory kept */
void strbuf_grow(struct strbuf *b, size_t more); /* room for `more` bytes and the NUL */
void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_addch(struct strbuf *b, char c);
void strbuf_addstr(struct strbuf *b, const char *s);
void strbuf_adduint(struct strbuf *b, uint64_t n); /* decimal, and fast */
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
/*
 * Text from outside, so that no terminal obeys it: control characters and bytes that are no UTF-8
 * become \xNN, those of more than one byte (C1, marks of direction) \u{NN}.
 */
void strbuf_add_clean(struct strbuf *b, const char *s, size_t len);
char *strbuf_take(struct strbuf *b); /* the string is the caller's to free; b is empty again */

#endif
