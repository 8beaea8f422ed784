// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

char strbuf_empty[1];

void strbuf_init(struct strbuf *b)
{
	*b = (struct strbuf)STRBUF_INIT;
}

void strbuf_release(struct strbuf *b)
{
	if (b->s != strbuf_empty)
		free(b->s);
	strbuf_init(b);
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	if (b->cap)
		b->s[0] = '\0';
}

void strbuf_grow(struct strbuf *b, size_t more)
{
	size_t need = b->len + more + 1;

	if (need <= b->cap)
		return;
	b->cap = MAX(need, MAX(b->cap * 2, (size_t)64));
	b->s = xrealloc(b->s == strbuf_empty ? NULL : b->s, b->cap);
	b->s[b->len] = '\0';
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	strbuf_grow(b, len);
	if (len) /* `data` of an empty vec is NULL */
		memcpy(b->s + b->len, data, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void strbuf_addch(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_addstr(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_adduint(struct strbuf *b, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = '0' + n % 10;
		n /= 10;
	} while (n);
	strbuf_add(b, p, digits + sizeof(digits) - p);
}

/* Nearly always there is room already, and it takes one try. */
void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
	size_t room = b->cap ? b->cap - b->len : 0;
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(room ? b->s + b->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room) {
		strbuf_grow(b, n);
		vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
	}
	b->len += MAX(n, 0);
	va_end(again);
}

void strbuf_add_clean(struct strbuf *b, const char *s, size_t len)
{
	size_t n;
	uint32_t c;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_plain(s + i, len - i);
		strbuf_add(b, s + i, n);
		i += n;
		if (i == len)
			break;
		n = utf8_get(s + i, len - i, &c);
		if (!n || c < 0x80) {
			n = 1;
			strbuf_addf(b, "\\x%02x", (unsigned char)s[i]);
		} else if (utf8_is_control(c)) {
			strbuf_addf(b, "\\u{%x}", c);
		} else {
			strbuf_add(b, s + i, n);
		}
	}
}

char *strbuf_take(struct strbuf *b)
{
	char *s = b->s == strbuf_empty ? xstrdup("") : b->s;

	strbuf_init(b);
	return s;
}
