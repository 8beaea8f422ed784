// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes protocol buffers: fields of a message one after the other, messages inside messages, every
 * number and length in as few bytes as there can be.
 *
 *	struct proto w = proto_start(buf);
 *	size_t packet = proto_open(&w, 1);
 *	proto_uint(&w, 8, time);
 *	proto_close(&w, packet);
 *	proto_finish(&w, buf);
 *
 * It is for tens of millions of small messages: numbers are stored without asking for room. There
 * is room for PROTO_ROOM bytes of tags, numbers and lengths after proto_start and after each
 * string; that is some twenty fields.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include <string.h>

#include "base/strbuf.h"

#define PROTO_ROOM 512

struct proto {
	uint8_t *at;
	uint8_t *start; /* of the buffer: strings may move it */
};

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

static inline struct proto proto_start(struct strbuf *buf)
{
	strbuf_grow(buf, PROTO_ROOM);
	return (struct proto){ .at = (uint8_t *)buf->s + buf->len, .start = (uint8_t *)buf->s };
}

static inline void proto_finish(const struct proto *w, struct strbuf *buf)
{
	buf->len = w->at - w->start;
	buf->s[buf->len] = '\0';
}

static inline uint8_t *proto_put_varint(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = v | 0x80;
		v >>= 7;
	}
	*at++ = v;
	return at;
}

static inline void proto_tag(struct proto *w, uint32_t field, enum proto_wire wire)
{
	w->at = proto_put_varint(w->at, field << 3 | wire);
}

/* Also for bool and enum, and for int32 and int64 that are not negative. */
static inline void proto_uint(struct proto *w, uint32_t field, uint64_t v)
{
	proto_tag(w, field, PROTO_VARINT);
	w->at = proto_put_varint(w->at, v);
}

static inline void proto_fixed64(struct proto *w, uint32_t field, uint64_t v)
{
	proto_tag(w, field, PROTO_FIXED64);
	memcpy(w->at, &v, sizeof(v)); /* little-endian, as are all machines that futrace knows */
	w->at += sizeof(v);
}

static inline void proto_double(struct proto *w, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	proto_fixed64(w, field, bits);
}

/* A message as a field. What is written until proto_close(w, what this returned) is its contents.
 */
static inline size_t proto_open(struct proto *w, uint32_t field)
{
	proto_tag(w, field, PROTO_BYTES);
	*w->at++ = 0; /* its length, most often */
	return w->at - w->start;
}

/* Makes room for a length that does not fit into a byte. */
void proto_close_long(struct proto *w, size_t open);

static inline void proto_close(struct proto *w, size_t open)
{
	size_t len = w->at - w->start - open;

	if (likely(len < 0x80))
		w->start[open - 1] = len;
	else
		proto_close_long(w, open);
}

/* Text from anywhere: a proto's string is UTF-8. buf: what the message was started in. */
void proto_string(struct proto *w, struct strbuf *buf, uint32_t field, const char *s);

#endif
