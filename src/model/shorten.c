// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/shorten.h"

#include <string.h>

static bool ends_path(char c)
{
	return strchr("<>()[],;&|+= *", c) != NULL; /* the NUL too */
}

/* {closure#0} and the like belong to the name before them. */
static bool is_plain_segment(const char *s)
{
	return *s != '{';
}

/* Where the last `keep` plain segments of the path s[0..len) begin. */
static size_t keep_from(const char *s, size_t len, unsigned keep)
{
	size_t end = len;

	while (end > 0) {
		size_t start = end;

		while (start > 0 && !(start >= 2 && s[start - 1] == ':' && s[start - 2] == ':'))
			start--;
		if (is_plain_segment(s + start) && --keep == 0)
			return start;
		end = start >= 2 ? start - 2 : 0;
	}
	return 0;
}

/* Cuts each path in the name to its last `keep` segments; what follows "<T>" keeps its "::". */
static void cut_paths(struct strbuf *out, const char *name, unsigned keep)
{
	while (*name) {
		size_t len = 0, from;

		if (name[0] == ':' && name[1] == ':') {
			strbuf_addstr(out, "::");
			name += 2;
		}
		while (!ends_path(name[len]))
			len++;
		from = len ? keep_from(name, len, keep) : 0;
		strbuf_add(out, name + from, len - from);
		name += len;
		if (*name)
			strbuf_addch(out, *name++);
	}
}

/* Not into the middle of a UTF-8 sequence. */
static void cut_middle(struct strbuf *out, const char *s, size_t len, size_t width)
{
	size_t head = width > 2 ? (width - 2) / 2 : width, tail = width > 2 ? width - 2 - head : 0;

	while (head > 0 && (s[head] & 0xc0) == 0x80)
		head--;
	while (tail > 0 && (s[len - tail] & 0xc0) == 0x80)
		tail--;
	strbuf_add(out, s, head);
	if (width > 2)
		strbuf_addstr(out, "..");
	strbuf_add(out, s + len - tail, tail);
}

/* How long it is without the `::{async block#0}` at its end. */
static size_t without_body(const char *name, size_t len)
{
	while (len > 0 && name[len - 1] == '}') {
		size_t at = len;

		while (at > 0 && name[at - 1] != '{')
			at--;
		if (at < 4 || name[at - 2] != ':' || name[at - 3] != ':')
			break;
		len = at - 3;
	}
	return len;
}

static void shorten(struct strbuf *out, const char *name, size_t width, bool has_place)
{
	struct strbuf clean = STRBUF_INIT, text = STRBUF_INIT;
	size_t len;

	strbuf_add_clean(&clean, name, strlen(name));
	strbuf_addstr(&text, clean.s);
	for (unsigned keep = 4; text.len > width && keep > 0; keep--) {
		strbuf_reset(&text);
		cut_paths(&text, clean.s, keep);
	}
	len = has_place && text.len > width ? without_body(text.s, text.len) : text.len;
	if (len > width)
		cut_middle(out, text.s, len, width);
	else
		strbuf_add(out, text.s, len);
	strbuf_release(&clean);
	strbuf_release(&text);
}

void shorten_type(struct strbuf *out, const char *name, size_t width)
{
	shorten(out, name, width, false);
}

void shorten_body(struct strbuf *out, const char *name, size_t width)
{
	shorten(out, name, width, true);
}

static const char *without_registry(const char *path)
{
	const char *at = strstr(path, "/registry/src/"), *slash;

	slash = at ? strchr(at + strlen("/registry/src/"), '/') : NULL;
	return slash ? slash + 1 : path;
}

/* The last so many components of a path: of two, "src/main.rs". */
static const char *path_tail(const char *path, unsigned nr)
{
	const char *p = path + strlen(path);

	for (unsigned slashes = 0; p > path; p--)
		if (p[-1] == '/' && ++slashes == nr)
			break;
	return p;
}

/* Every library has a src/lib.rs: the folder before it tells whose it is. */
static const char *crate_tail(const char *path)
{
	const char *tail = path_tail(path, 2);

	return strcmp(tail, "src/lib.rs") == 0 ? path_tail(path, 3) : tail;
}

void shorten_place(struct strbuf *out, const char *file, uint32_t line, size_t width)
{
	const char *paths[] = { without_registry(file), crate_tail(file), path_tail(file, 2) };
	size_t start = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		out->len = start;
		strbuf_add_clean(out, paths[i], strlen(paths[i]));
		strbuf_addf(out, ":%u", line);
		if (out->len - start <= width)
			return;
	}
}

void shorten_front(struct strbuf *out, const char *text, size_t width)
{
	size_t len = strlen(text), tail = width > 2 ? width - 2 : width;

	if (len <= width) {
		strbuf_addstr(out, text);
		return;
	}
	/* not from the middle of a UTF-8 sequence */
	while (tail > 0 && (text[len - tail] & 0xc0) == 0x80)
		tail--;
	if (width > 2)
		strbuf_addstr(out, "..");
	strbuf_addstr(out, text + len - tail);
}
