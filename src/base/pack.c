// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/pack.h"

#include <string.h>

void pack_number(struct strbuf *b, uint64_t x)
{
	strbuf_add(b, &x, sizeof(x));
}

void pack_string(struct strbuf *b, const char *s)
{
	strbuf_add(b, s ? s : "", s ? strlen(s) + 1 : 1);
}

void pack_blob(struct strbuf *b, const void *data, size_t len)
{
	pack_number(b, len);
	strbuf_add(b, data, len);
}

static size_t left(const struct unpack *u)
{
	return u->is_broken ? 0 : (size_t)(u->end - u->p);
}

void unpack_bytes(struct unpack *u, void *to, size_t len)
{
	if (left(u) < len) {
		u->is_broken = true;
		memset(to, 0, len);
		return;
	}
	if (len)
		memcpy(to, u->p, len);
	u->p += len;
}

uint64_t unpack_number(struct unpack *u)
{
	uint64_t x;

	unpack_bytes(u, &x, sizeof(x));
	return x;
}

uint64_t unpack_below(struct unpack *u, uint64_t limit)
{
	uint64_t x = unpack_number(u);

	if (x < limit)
		return x;
	u->is_broken = true;
	return 0;
}

uint64_t unpack_count(struct unpack *u, size_t bytes)
{
	uint64_t nr = unpack_number(u);

	if (nr <= left(u) / bytes)
		return nr;
	u->is_broken = true;
	return 0;
}

const char *unpack_string(struct unpack *u)
{
	const char *s = u->p, *nul = left(u) ? memchr(s, '\0', left(u)) : NULL;

	if (!nul) {
		u->is_broken = true;
		return "";
	}
	u->p = nul + 1;
	return s;
}

const void *unpack_blob(struct unpack *u, size_t *len)
{
	const char *data;

	*len = unpack_count(u, 1);
	data = u->p;
	if (u->is_broken)
		return NULL;
	u->p += *len;
	return data;
}
