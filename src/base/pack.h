// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Plain data as bytes, between processes of one build or in a cache file of this machine. Unpacked
 * data is hostile: nothing is read behind its end, and the first thing that is wrong makes all
 * that follows zeroes and empty strings, with is_broken set.
 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/strbuf.h"

void pack_number(struct strbuf *b, uint64_t x);
void pack_string(struct strbuf *b, const char *s); /* NULL becomes "" */
void pack_blob(struct strbuf *b, const void *data, size_t len);

struct unpack {
	const char *p, *end;
	bool is_broken;
};

#define UNPACK_INIT(data, len)                                                 \
	{                                                                      \
		.p = (const char *)(data), .end = (const char *)(data) + (len) \
	}

uint64_t unpack_number(struct unpack *u);
/* A number below `limit`; otherwise 0, and it is broken. */
uint64_t unpack_below(struct unpack *u, uint64_t limit);
/* How many things follow that take at least `bytes` each. */
uint64_t unpack_count(struct unpack *u, size_t bytes);
const char *unpack_string(struct unpack *u); /* inside of the data */
void unpack_bytes(struct unpack *u, void *to, size_t len);
/* The bytes of pack_blob, inside the data; NULL: broken. */
const void *unpack_blob(struct unpack *u, size_t *len);

#endif
