// SPDX-License-Identifier: MIT OR Apache-2.0
/* Just enough UTF-8 to keep text valid, harmless on a terminal and in its column. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/strbuf.h"

/* Bytes of the sequence that begins at s, at most len; 0 when it is none. */
size_t utf8_len(const char *s, size_t len);
/* The same, and which character it is. */
size_t utf8_get(const char *s, size_t len, uint32_t *c);
/* Moves a cursor, changes the direction of text or cannot be seen: no matter for a terminal. */
bool utf8_is_control(uint32_t c);
/* How many bytes, from the first on, are plain characters of ASCII: nearly always all. */
size_t utf8_plain(const char *s, size_t len);
/* How many columns of a terminal the text takes; what is no UTF-8 takes one a byte. */
size_t utf8_columns(const char *s, size_t len);
/* Appends s, with U+FFFD for each byte that is not UTF-8: for formats that demand it. */
void strbuf_add_utf8(struct strbuf *b, const char *s);

#endif
