// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Bytes of a section, read one behind the other. Inline, as all of a hundred megabytes pass through
 * here. Private to symbol/.
 */
#ifndef SYMBOL_DWARF_BYTES_H
#define SYMBOL_DWARF_BYTES_H

#include <string.h>

#include "base/util.h"

struct raw_section {
	const uint8_t *data;
	uint64_t size_bytes;
};

/*
 * A reader that never leaves [off, end) of its section; once broken it returns zeros.
 */
struct raw_bytes {
	const uint8_t *data;
	uint64_t off, end;
	bool broken;
};

/* Of more than 8 bytes the first 8. */
static inline uint64_t raw_fixed(struct raw_bytes *b, unsigned n)
{
	uint64_t x = 0;

	if (b->broken || b->end - b->off < n) {
		b->broken = true;
		return 0;
	}
	memcpy(&x, b->data + b->off, MIN(n, 8u));
	b->off += n;
	return x;
}

/* A number of seven bits a byte; *nr_bits is how many it has. */
static inline uint64_t raw_leb(struct raw_bytes *b, unsigned *nr_bits)
{
	uint64_t x = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t c;

		if (b->broken || b->off >= b->end)
			break;
		c = b->data[b->off++];
		if (shift < 64)
			x |= (uint64_t)(c & 0x7f) << shift;
		*nr_bits = shift + 7;
		if (!(c & 0x80))
			return x;
	}
	b->broken = true;
	return 0;
}

static inline uint64_t raw_uleb(struct raw_bytes *b)
{
	unsigned nr_bits;

	return raw_leb(b, &nr_bits);
}

static inline int64_t raw_sleb(struct raw_bytes *b)
{
	unsigned nr_bits = 64;
	uint64_t x = raw_leb(b, &nr_bits);

	if (nr_bits < 64 && x >> (nr_bits - 1) & 1)
		x |= ~UINT64_C(0) << nr_bits;
	return x;
}

static inline void raw_skip(struct raw_bytes *b, uint64_t n)
{
	if (b->broken || n > b->end - b->off)
		b->broken = true;
	else
		b->off += n;
}

/* NUL-terminated, in place; NULL when broken. */
static inline const char *raw_string(struct raw_bytes *b)
{
	const uint8_t *s = b->data + b->off;
	const uint8_t *nul = b->broken ? NULL : memchr(s, '\0', b->end - b->off);

	if (!nul) {
		b->broken = true;
		return NULL;
	}
	b->off += nul + 1 - s;
	return (const char *)s;
}

/*
 * The string at an offset of a string section, NULL when it is outside. The section's last byte is
 * a NUL, so every string in it ends.
 */
static inline const char *raw_string_at(const struct raw_section *s, uint64_t off)
{
	if (off >= s->size_bytes || s->data[s->size_bytes - 1])
		return NULL;
	return (const char *)s->data + off;
}

#endif
