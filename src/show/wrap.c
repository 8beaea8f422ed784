// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/wrap.h"

#include <string.h>

/* Columns that n bytes of UTF-8 take; wide characters are not expected. */
static size_t columns(const char *s, size_t n)
{
	size_t nr = 0;

	for (size_t i = 0; i < n; i++)
		nr += (s[i] & 0xc0) != 0x80;
	return nr;
}

/* What the sentences of findings and thresholds hold beside ASCII. */
static const struct {
	const char *utf8, *ascii;
} plain[] = { { "…", "..." }, { "→", "->" } };

/* Where the terminal knows no more: what is ours to say is said in ASCII. */
static char *to_ascii(const char *text)
{
	struct strbuf out = STRBUF_INIT;

	while (*text) {
		size_t i = 0;

		while (i < ARRAY_SIZE(plain) && !str_has_prefix(text, plain[i].utf8))
			i++;
		if (i < ARRAY_SIZE(plain)) {
			strbuf_addstr(&out, plain[i].ascii);
			text += strlen(plain[i].utf8);
		} else {
			strbuf_addch(&out, *text++);
		}
	}
	return strbuf_take(&out);
}

void wrap_sentence(struct strbuf *out, const char *text, size_t indent, const struct styles *s)
{
	char *ascii = s->is_ascii ? to_ascii(text) : NULL;

	wrap_text(out, ascii ? ascii : text, indent, s->width);
	free(ascii);
}

void wrap_text(struct strbuf *out, const char *text, size_t indent, size_t width)
{
	size_t at = indent;

	while (*text) {
		size_t len = strcspn(text, " "), wide = columns(text, len);

		if (at > indent && at + 1 + wide > width) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		if (at > indent) {
			strbuf_addch(out, ' ');
			at++;
		}
		strbuf_add_clean(out, text, len);
		at += wide;
		text += len + (text[len] == ' ');
	}
	strbuf_addch(out, '\n');
}
