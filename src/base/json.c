// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

void json_init(struct json *j, struct strbuf *out)
{
	*j = (struct json){ .out = out, .first = { true } };
}

/* How many bytes need no thought. */
static size_t plain_len(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

/* As UTF-16, which is how JSON names characters. */
static void add_escape(struct strbuf *out, uint32_t c)
{
	if (c < 0x10000)
		strbuf_addf(out, "\\u%04x", c);
	else
		strbuf_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

/* JSON is also read on terminals: what would move their cursor or turn text around is escaped. */
static void quote(struct strbuf *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c;

	strbuf_addch(out, '"');
	while (*s) {
		size_t n = plain_len(s);

		strbuf_add(out, s, n); /* nearly always all of it */
		s += n;
		if (!*s)
			break;
		n = utf8_get((const char *)s, strnlen((const char *)s, 4), &c);

		if (n == 0)
			strbuf_addstr(out, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			strbuf_addf(out, "\\%c", c);
		else if (utf8_is_control(c))
			add_escape(out, c);
		else
			strbuf_add(out, s, n);
		s += n ? n : 1;
	}
	strbuf_addch(out, '"');
}

static void begin(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		strbuf_addch(j->out, ',');
	if (j->depth && j->depth <= 2 && j->pretty)
		strbuf_addf(j->out, "\n%*s", (int)j->depth, "");
	j->first[j->depth] = false;
	if (key) {
		quote(j->out, key);
		strbuf_addch(j->out, ':');
	}
}

static void open_nest(struct json *j, const char *key, char c)
{
	begin(j, key);
	strbuf_addch(j->out, c);
	if (j->depth + 1 < ARRAY_SIZE(j->first))
		j->first[++j->depth] = true;
}

static void close_nest(struct json *j, char c)
{
	if (j->depth)
		j->depth--;
	strbuf_addch(j->out, c);
}

void json_open_object(struct json *j, const char *key)
{
	open_nest(j, key, '{');
}

void json_close_object(struct json *j)
{
	close_nest(j, '}');
}

void json_open_array(struct json *j, const char *key)
{
	open_nest(j, key, '[');
}

void json_close_array(struct json *j)
{
	close_nest(j, ']');
}

void json_str(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	if (value)
		quote(j->out, value);
	else
		strbuf_addstr(j->out, "null");
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	strbuf_adduint(j->out, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	strbuf_addf(j->out, "%lld", (long long)value);
}

static void put_fraction(struct json *j, const char *key, double value, int digits)
{
	begin(j, key);
	if (isfinite(value))
		strbuf_addf(j->out, "%.*g", digits, value);
	else
		strbuf_addstr(j->out, "null");
}

void json_double(struct json *j, const char *key, double value)
{
	put_fraction(j, key, value, 6);
}

void json_exact(struct json *j, const char *key, double value)
{
	put_fraction(j, key, value, 17);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	strbuf_addstr(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_str(j, key, NULL);
}
