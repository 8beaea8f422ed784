// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/proto.h"

#include "base/utf8.h"

void proto_close_long(struct proto *w, size_t open)
{
	uint8_t *contents = w->start + open, length[10];
	size_t len = w->at - contents;
	size_t more = proto_put_varint(length, len) - length - 1;

	memmove(contents + more, contents, len);
	memcpy(contents - 1, length, more + 1);
	w->at += more;
}

static void put_bytes(struct proto *w, struct strbuf *buf, uint32_t field, const void *data,
		      size_t len)
{
	size_t used;

	proto_tag(w, field, PROTO_BYTES);
	w->at = proto_put_varint(w->at, len);
	used = w->at - w->start;
	buf->len = used; /* so that growing keeps it */
	strbuf_grow(buf, len + PROTO_ROOM);
	w->start = (uint8_t *)buf->s;
	w->at = w->start + used;
	memcpy(w->at, data, len);
	w->at += len;
}

void proto_string(struct proto *w, struct strbuf *buf, uint32_t field, const char *s)
{
	struct strbuf clean = STRBUF_INIT;

	strbuf_add_utf8(&clean, s);
	put_bytes(w, buf, field, clean.s, clean.len);
	strbuf_release(&clean);
}
