// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/shorten.h"

#include <string.h>

#include "base/crate_path.h"
#include "base/rust_name.h"

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

#define MAX_BYTES 4096 /* of names that are cut between brackets */

/* How many brackets are open before each byte, and at the end. */
static uint32_t *depths_of(const char *s, size_t len)
{
	uint32_t *depths = xcalloc(len + 2, sizeof(*depths));
	struct rust_name n;

	rust_name_init(&n, s, len);
	for (uint32_t i = 0; i < n.nr; i++) {
		enum rust_kind kind = n.nodes[i].kind;
		uint32_t start = n.nodes[i].start, end = n.nodes[i].end;

		if (kind == RUST_BRACES)
			end = rust_name_head_end(&n, i);
		else if (kind != RUST_SELF && kind != RUST_ARGS && kind != RUST_TUPLE &&
			 kind != RUST_ARRAY && kind != RUST_CONST)
			continue;
		depths[start + 1]++;
		depths[end]--;
	}
	for (size_t i = 1; i <= len; i++)
		depths[i] += depths[i - 1];
	rust_name_release(&n);
	return depths;
}

static bool is_torn(const char *s, size_t at)
{
	return (s[at] & 0xc0) == 0x80;
}

/*
 * Takes out of the middle as little as will do, with each bracket its partner: `a<b..>::{c}` rather
 * than `a<b..}`. False: there is no room, or it is too long to be looked at.
 */
static bool cut_between(struct strbuf *out, const char *s, size_t len, size_t width)
{
	size_t room = width - 2, least = len - room, best = 0, best_end = 0;
	uint32_t *depths;

	if (width <= 2 || len > MAX_BYTES)
		return false;
	depths = depths_of(s, len);
	for (size_t from = 0; from + least <= len; from++) {
		size_t to = from, last = 0;

		for (; !last && to <= len && depths[to] >= depths[from]; to++)
			if (to - from >= least && depths[to] == depths[from] && !is_torn(s, to))
				last = to;
		if (!last || is_torn(s, from))
			continue;
		if (!best_end || last - from < best_end - best ||
		    (last - from == best_end - best && from <= room / 2)) {
			best = from;
			best_end = last;
		}
	}
	free(depths);
	strbuf_add(out, s, best);
	strbuf_addstr(out, "..");
	strbuf_add(out, s + best_end, len - best_end);
	return true;
}

/* How long it is without the `::{async block#0}` at its end. */
static size_t without_body(const char *name, size_t len)
{
	uint32_t path = 0, end = 0;
	struct rust_name n;

	rust_name_init(&n, name, len);
	while (path < n.nr && (n.nodes[path].kind != RUST_PATH || n.nodes[path].end < len))
		path++;
	if (path < n.nr)
		rust_name_each(segment, &n, path) if (n.nodes[segment].kind != RUST_BRACES ||
						      n.nodes[segment].first) end =
			n.nodes[segment].end;
	rust_name_release(&n);
	return end ? end : len;
}

static void shorten(struct strbuf *out, const char *name, size_t width, bool has_place)
{
	struct strbuf clean = STRBUF_INIT, text = STRBUF_INIT;
	struct rust_name n;
	size_t len;

	strbuf_add_clean(&clean, name, strlen(name));
	strbuf_addstr(&text, clean.s);
	rust_name_init(&n, clean.s, text.len > width ? clean.len : 0);
	for (struct rust_print how = { .keep = 4 }; text.len > width && how.keep > 0; how.keep--) {
		strbuf_reset(&text);
		rust_name_print(&text, &n, RUST_NAME_ROOT, &how);
	}
	len = has_place && text.len > width ? without_body(text.s, text.len) : text.len;
	if (len <= width)
		strbuf_add(out, text.s, len);
	else if (!cut_between(out, text.s, len, width))
		cut_middle(out, text.s, len, width);
	rust_name_release(&n);
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

/* A crate that cargo fetched, and a file of it. */
struct fetched {
	const char *name;
	size_t name_len, versioned_len; /* without and with the version */
	const char *rest;
};

static const char *after(const char *path, const char *folders)
{
	const char *at = strstr(path, folders);

	return at ? at + strlen(folders) : NULL;
}

static const char *skip_folder(const char *path)
{
	const char *slash = path ? strchr(path, '/') : NULL;

	return slash ? slash + 1 : NULL;
}

/* "tokio/src/lib.rs", where crates were copied to; a program may have such a folder of its own. */
static const char *find_vendored(const char *path)
{
	const char *name = str_has_prefix(path, "vendor/") ? path + strlen("vendor/")
							   : after(path, "/vendor/");
	const char *rest = skip_folder(name);

	return rest && str_has_prefix(rest, "src/") ? name : NULL;
}

/* "tokio-1.38.2/src/lib.rs" behind a registry, or as it is, where paths were trimmed. */
static bool is_in_folder(const char *path, struct fetched *f)
{
	const char *name = skip_folder(after(path, "/registry/src/"));
	bool is_sure = name || (name = find_vendored(path));
	const char *version;

	f->name = is_sure ? name : path;
	f->rest = skip_folder(f->name);
	if (!f->rest)
		return false;
	version = crate_find_version(f->name);
	f->versioned_len = f->rest - 1 - f->name;
	f->name_len = version ? (size_t)(version - f->name) : f->versioned_len;
	return is_sure || version;
}

/* "tokio-0123456789abcdef/1a2b3c4/src/lib.rs" behind git: of a repository, not of a crate. */
static bool is_in_checkout(const char *path, struct fetched *f)
{
	static const size_t hash_len = 1 + 16;
	const char *name = after(path, "/git/checkouts/"), *commit = skip_folder(name);

	f->rest = skip_folder(commit);
	if (!f->rest || (size_t)(commit - 1 - name) <= hash_len)
		return false;
	f->name = name;
	f->name_len = f->versioned_len = commit - 1 - name - hash_len;
	return true;
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

/* What can be told of a file, the longest first: the front is whose it is, the back the file. */
struct words {
	const char *front;
	size_t front_len;
	const char *between, *back;
};

static bool say(struct strbuf *out, const struct words *w, uint32_t line, size_t width)
{
	size_t start = out->len;

	strbuf_add_clean(out, w->front, w->front_len);
	strbuf_addstr(out, w->between);
	strbuf_add_clean(out, w->back, strlen(w->back));
	strbuf_addf(out, ":%u", line);
	return out->len - start <= width;
}

void shorten_place(struct strbuf *out, const char *file, uint32_t line, size_t width)
{
	struct fetched f;
	struct words all[5];
	size_t nr = 0, start = out->len;

	if (is_in_folder(file, &f) || is_in_checkout(file, &f)) {
		const char *tail = path_tail(f.rest, 2);

		all[nr++] = (struct words){ f.name, f.versioned_len, "/", f.rest };
		all[nr++] = (struct words){ f.name, f.name_len, "/", f.rest };
		all[nr++] = (struct words){ f.name, f.name_len, "/..", tail };
		all[nr++] = (struct words){ f.name, f.name_len, "/..", path_tail(f.rest, 1) };
	} else {
		all[nr++] = (struct words){ "", 0, "", file };
		all[nr++] = (struct words){ "", 0, "", crate_tail(file) };
	}
	all[nr++] = (struct words){ "", 0, "", path_tail(file, 2) };
	for (size_t i = 0; i < nr; i++) {
		out->len = start;
		if (say(out, &all[i], line, width))
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
