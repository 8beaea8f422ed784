// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A file that is written from front to back. Append to buf with the strbuf functions and call
 * out_spill now and then: it writes when enough has come together. The first error sticks, and
 * out_release tells it.
 */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/err.h"
#include "base/strbuf.h"

struct out {
	struct strbuf buf;
	int fd;
	int error;	  /* errno of the first write that failed */
	uint64_t written; /* bytes that left buf */
};

#define OUT_SPILL_BYTES (UINT64_C(256) << 10)

void out_init(struct out *o, int fd); /* fd is borrowed */
void out_flush(struct out *o);
int out_release(struct out *o, struct err *e); /* flushes; -1 if anything could not be written */

static inline void out_spill(struct out *o)
{
	if (unlikely(o->buf.len >= OUT_SPILL_BYTES))
		out_flush(o);
}

static inline uint64_t out_size(const struct out *o)
{
	return o->written + o->buf.len;
}

#endif
