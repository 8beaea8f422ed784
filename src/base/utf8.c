// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/utf8.h"

#include <string.h>

size_t utf8_get(const char *text, size_t len, uint32_t *c)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t n = 0;

	if (len)
		n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (!n || n > len || s[0] > 0xf4)
		return 0;
	*c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	/* longer than need be, half of a pair of UTF-16, or past the last character */
	if (*c < lowest[n] || (*c >= 0xd800 && *c <= 0xdfff) || *c > 0x10ffff)
		return 0;
	return n;
}

size_t utf8_len(const char *s, size_t len)
{
	uint32_t c;

	return utf8_get(s, len, &c);
}

struct range {
	uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t nr, uint32_t c)
{
	for (size_t i = 0; i < nr; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

bool utf8_is_control(uint32_t c)
{
	static const struct range ranges[] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	/* C0, DEL, C1: U+009B begins a sequence */
		{ 0x61c, 0x61c },   { 0x200b, 0x200f }, /* invisible, and marks of direction */
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, /* ends of lines, directions */
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	return is_in(ranges, ARRAY_SIZE(ranges), c);
}

static size_t columns_of(uint32_t c)
{
	static const struct range wide[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
		{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
	};
	static const struct range combining[] = {
		{ 0x300, 0x36f },   { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
		{ 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
	};

	if (c < 0x300)
		return 1;
	return is_in(combining, ARRAY_SIZE(combining), c) ? 0
	       : is_in(wide, ARRAY_SIZE(wide), c)	  ? 2
							  : 1;
}

size_t utf8_plain(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

size_t utf8_columns(const char *s, size_t len)
{
	size_t columns = utf8_plain(s, len), n;
	uint32_t c;

	for (size_t i = columns; i < len; i += n ? n : 1) {
		n = utf8_get(s + i, len - i, &c);
		columns += n ? columns_of(c) : 1;
	}
	return columns;
}

void strbuf_add_utf8(struct strbuf *b, const char *s)
{
	size_t len = strlen(s), n;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_len(s + i, len - i);
		if (n)
			strbuf_add(b, s + i, n);
		else
			strbuf_addstr(b, "\xef\xbf\xbd");
	}
}
