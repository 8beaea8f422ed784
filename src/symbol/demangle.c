// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

bool demangle_is_v0(const char *mangled)
{
	return str_has_prefix(mangled, "_R");
}

/* Legacy mangling has no minus sign, so that `fn() -> u32` comes back with a dot. */
static void mend_arrows(char *text)
{
	for (char *at = text; at && (at = strstr(at, " .> ")); at += 3)
		at[1] = '-';
}

char *demangle(const char *mangled)
{
	const char *suffix = strstr(mangled, ".llvm."); /* of a symbol that ThinLTO made global */
	char *bare, *text;

	if (!demangle_is_v0(mangled) && !str_has_prefix(mangled, "_ZN"))
		return NULL;
	bare = suffix ? xstrndup(mangled, suffix - mangled) : xstrdup(mangled);
	text = rust_demangle(bare, DMGL_NO_OPTS);
	mend_arrows(text);
	free(bare);
	return text;
}

/* The > of -> closes nothing. */
const char *bracket_end(const char *s, const char *end)
{
	unsigned depth = 0;

	for (const char *p = s; p < end; p++) {
		if (strchr("<([{", *p))
			depth++;
		else if (strchr(")]}", *p) || (*p == '>' && (p == s || p[-1] != '-')))
			if (--depth == 0)
				return p;
	}
	return NULL;
}

size_t type_args(const char *name, size_t len, struct span *args, size_t max)
{
	const char *open = memchr(name, '<', len), *end = name + len, *from;
	const char *close = open ? bracket_end(open, end) : NULL;
	size_t nr = 0;

	if (!close)
		return 0;
	from = open + 1;
	for (const char *p = from; p <= close; p++) {
		const char *skip = p < close && strchr("<([{", *p) ? bracket_end(p, close) : NULL;

		if (skip) {
			p = skip;
			continue;
		}
		if (*p != ',' && p != close)
			continue;
		if (nr < max)
			args[nr] = (struct span){ from, p - from };
		nr++;
		from = p + 1;
		while (from < close && *from == ' ')
			from++;
	}
	return nr;
}

/* How a closure-like path component is spelled, and what becomes of it. */
struct spelling {
	const char *head, *becomes;
	bool is_symbol; /* may be the body of an async fn, then it is dropped */
};

static const struct spelling spellings[] = {
	{ "{async_fn_env#", NULL },
	{ "{async_fn#", NULL },
	{ "{async_block_env#", "{async block#" },
	{ "{async_block#", "{async block#" },
	{ "{async_closure_env#", "{async closure#" },
	{ "{async_closure#", "{async closure#" },
	{ "{closure_env#", "{closure#" },
	{ "{closure#", "{closure#", true },
	{ "{{closure}", "{closure", true },
};

struct rewrite {
	struct strbuf out;
	const char *end;
	size_t closure_end; /* output length behind the latest closure, even a dropped one */
	size_t chain_at; /* output length before the first of the closures that follow each other */
	bool is_closure;
};

static void drop_separator(struct strbuf *out)
{
	if (out->len >= 2 && strcmp(out->s + out->len - 2, "::") == 0) {
		out->len -= 2;
		out->s[out->len] = '\0';
	}
}

static void rewrite(struct rewrite *r, const char *p);

/*
 * Debug info has the function's type arguments behind its closures: `f::{async_block_env#0}<u32>`.
 */
static size_t move_args(struct rewrite *r, const char *p)
{
	const char *close = p < r->end && *p == '<' ? bracket_end(p, r->end) : NULL;
	struct rewrite args = { .out = STRBUF_INIT, .closure_end = SIZE_MAX - 2 };
	char *chain;

	if (!close)
		return 0;
	args.end = close + 1;
	strbuf_addch(&args.out, '<');
	rewrite(&args, p + 1);
	chain = xstrdup(r->out.s + r->chain_at);
	r->out.len = r->chain_at;
	strbuf_add(&r->out, args.out.s, args.out.len);
	strbuf_addstr(&r->out, chain);
	r->closure_end = r->out.len;
	strbuf_release(&args.out);
	free(chain);
	return close + 1 - p;
}

/* Returns the bytes of input that were taken, 0 when p is at no closure. */
static size_t rewrite_closure(struct rewrite *r, const char *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		const struct spelling *sp = &spellings[i];
		size_t head = strlen(sp->head);
		const char *close;
		bool follows = r->out.len == r->closure_end + 2, is_last, may_be_fn;

		if ((size_t)(r->end - p) < head || strncmp(p, sp->head, head) != 0)
			continue;
		close = bracket_end(p, r->end);
		if (!close)
			return 0;
		is_last = close + 1 == r->end;
		if (!follows)
			r->chain_at = r->out.len - (r->out.len >= 2 ? 2 : 0);
		/* An async fn's body is the first closure in it, counted from 0. */
		may_be_fn = sp->is_symbol && (p[head] == '}' || strncmp(p + head, "0}", 2) == 0);
		if (!sp->becomes || (may_be_fn && !follows && !(r->is_closure && is_last))) {
			drop_separator(&r->out);
		} else {
			strbuf_addstr(&r->out, sp->becomes);
			strbuf_add(&r->out, p + head, close + 1 - p - head);
		}
		r->closure_end = r->out.len;
		return close + 1 - p + move_args(r, close + 1);
	}
	return 0;
}

/* `<app::Conn>::run` of v0 is `app::Conn::run`; `<T as Trait>::run` stays. */
static const char *impl_brackets(const struct rewrite *r, const char *p)
{
	char before = r->out.len ? r->out.s[r->out.len - 1] : ' ';
	const char *close;

	if (*p != '<' || !strchr(" (<,&", before))
		return NULL;
	close = bracket_end(p, r->end);
	if (!close || r->end - close < 3 || strncmp(close + 1, "::", 2) != 0 ||
	    memmem(p, close - p, " as ", 4))
		return NULL;
	return close;
}

/* Legacy spells `dyn Future<Output = u32> + Send` as `dyn Future+Output = u32+Send`. */
static size_t rewrite_bound(struct rewrite *r, const char *p)
{
	const char *q = p + 1, *from;

	while (q < r->end && (*q == '_' || (*q >= '0' && *q <= '9') || (*q >= 'A' && *q <= 'Z') ||
			      (*q >= 'a' && *q <= 'z')))
		q++;
	if (r->end - q < 3 || strncmp(q, " = ", 3) != 0) {
		strbuf_addstr(&r->out, " + ");
		return 1;
	}
	for (from = p + 1; q < r->end && !strchr("+,>", *q); q++) {
		const char *close = strchr("<([{", *q) ? bracket_end(q, r->end) : NULL;

		q = close ? close : q;
	}
	strbuf_addf(&r->out, "<%.*s>", (int)(q - from), from);
	return q - p;
}

/* Legacy spells the constant 5 as `5_usize`. The length of that suffix, 0 when there is none. */
static size_t const_suffix(const struct rewrite *r, const char *p)
{
	static const char *const suffixes[] = { "_usize", "_isize", "_u128", "_i128",
						"_u64",	  "_i64",   "_u32",  "_i32",
						"_u16",	  "_i16",   "_u8",   "_i8" };
	size_t from = r->out.len;

	while (from && r->out.s[from - 1] >= '0' && r->out.s[from - 1] <= '9')
		from--;
	if (from == r->out.len || !from || !strchr("< -", r->out.s[from - 1]))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t len = strlen(suffixes[i]);

		if ((size_t)(r->end - p) > len && strncmp(p, suffixes[i], len) == 0 &&
		    strchr(",>]", p[len]))
			return len;
	}
	return 0;
}

static void rewrite(struct rewrite *r, const char *p)
{
	static const char global[] = ", alloc::alloc::Global";

	while (p < r->end) {
		size_t left = r->end - p, took = *p == '{'   ? rewrite_closure(r, p)
						 : *p == '_' ? const_suffix(r, p)
							     : 0;
		const char *close;

		if (took) {
			p += took;
		} else if (left >= sizeof(global) - 1 &&
			   strncmp(p, global, sizeof(global) - 1) == 0) {
			p += sizeof(global) - 1; /* every Box and Arc has it: noise */
		} else if (left > 2 && strncmp(p, "::<", 3) == 0 &&
			   (left < 8 || strncmp(p, "::<impl ", 8) != 0)) {
			p += 2;
		} else if ((close = impl_brackets(r, p))) {
			struct rewrite inner = { .out = STRBUF_INIT,
						 .end = close,
						 .closure_end = SIZE_MAX - 2 };

			rewrite(&inner, p + 1);
			strbuf_add(&r->out, inner.out.s, inner.out.len);
			strbuf_release(&inner.out);
			p = close + 1;
		} else if (*p == ',' && left > 1 && p[1] != ' ') {
			strbuf_addstr(&r->out, ", ");
			p++;
		} else if (*p == '=' && left > 1 && p[1] != ' ' && r->out.len &&
			   r->out.s[r->out.len - 1] != ' ') {
			strbuf_addstr(&r->out, " = ");
			p++;
		} else if (*p == '+' && left > 1 && p[1] != ' ') {
			p += rewrite_bound(r, p);
		} else {
			strbuf_addch(&r->out, *p++);
		}
	}
}

static const char *const wrappers[] = {
	"core::pin::Pin<alloc::boxed::Box<",
	"alloc::boxed::Box<",
	"core::future::from_generator::GenFuture<",
};

/* Leaves only the F of a wrapper, when the wrapper is the whole type. */
static bool unwrap(struct span *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		size_t head = strlen(wrappers[i]);
		const char *open, *close, *end = t->s + t->len;
		size_t nr_brackets = i == 0 ? 2 : 1;

		if (t->len <= head || strncmp(t->s, wrappers[i], head) != 0)
			continue;
		open = t->s + head - 1;
		close = bracket_end(open, end);
		if (!close || (size_t)(end - close) != nr_brackets)
			continue;
		t->s = open + 1;
		t->len = close - t->s;
		return true;
	}
	if (t->len > 6 && strncmp(t->s, "(dyn ", 5) == 0 &&
	    bracket_end(t->s, t->s + t->len) == t->s + t->len - 1) {
		t->s++;
		t->len -= 2;
		return true;
	}
	return false;
}

char *readable_type(const char *type, size_t len, bool is_closure)
{
	/* Wrappers with an allocator argument are seen only after rewriting, hence twice. */
	struct rewrite r = { .out = STRBUF_INIT,
			     .end = type + len,
			     .closure_end = SIZE_MAX - 2,
			     .is_closure = is_closure };
	struct span t = { type, len };
	char *text;

	while (unwrap(&t))
		;
	r.end = t.s + t.len;
	rewrite(&r, t.s);
	t = (struct span){ r.out.s, r.out.len };
	while (unwrap(&t))
		;
	text = xstrndup(t.s, t.len);
	strbuf_release(&r.out);
	return text;
}

static const char *first_closure(const char *path)
{
	static const char *const heads[] = { "::{async_", "::{closure", "::{{closure", "::{gen" };
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const char *at = strstr(path, heads[i]);

		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

/* The next type parameter, `T` in `Pool<T>`: a name without a path that begins like a type. */
static bool next_param(const char *s, struct span *param)
{
	for (; *s; s++) {
		size_t len = 0;

		if (!strchr("<,( &", s[0]) || s[1] < 'A' || s[1] > 'Z')
			continue;
		while (is_word(s[1 + len]))
			len++;
		if (!strchr(">,);] ", s[1 + len])) /* the NUL too */
			continue;
		*param = (struct span){ s + 1, len };
		return true;
	}
	return false;
}

/*
 * Legacy symbols name an impl block by its parameters, `Pool<T>::get`, and debug info has its and
 * the function's arguments in one list: puts the first in where there is only one parameter. (Which
 * of several is which does not show.) *args becomes what is left of them.
 */
static char *put_arg(const char *real, size_t len, struct span *args)
{
	char *text = xstrndup(real, len);
	struct strbuf out = STRBUF_INIT;
	struct span param, arg[2], other;
	size_t nr = type_args(args->s, args->len, arg, 2);
	const char *from = text;

	if (!nr || !next_param(text, &param))
		return text;
	for (const char *p = param.s + param.len; next_param(p - 1, &other);
	     p = other.s + other.len)
		if (other.len != param.len || strncmp(other.s, param.s, param.len) != 0)
			return text;
	do {
		strbuf_add(&out, from, param.s - from);
		strbuf_add(&out, arg[0].s, arg[0].len);
		from = param.s + param.len;
	} while (next_param(from - 1, &param));
	strbuf_addstr(&out, from);
	if (nr == 1) {
		args->len = 0;
	} else {
		args->len -= arg[1].s - args->s; /* "<" is put before */
		args->s = arg[1].s;
	}
	free(text);
	return strbuf_take(&out);
}

char *name_impl(const char *path, const char *linkage_name)
{
	char *real = linkage_name && strstr(path, "{impl#") ? demangle(linkage_name) : NULL, *head;
	const char *tail = first_closure(path), *cut = real ? first_closure(real) : NULL;
	struct span args = { path + strlen(path), 0 };
	const char *brace = strrchr(path, '}');
	struct strbuf text = STRBUF_INIT;

	if (!tail || !cut) {
		free(real);
		return xstrdup(path);
	}
	if (brace && brace[1] == '<' && brace > tail)
		args = (struct span){ brace + 1, strlen(brace + 1) };
	strbuf_add(&text, tail, args.s - tail);
	if (demangle_is_v0(linkage_name)) { /* has all arguments in their places */
		head = xstrndup(real, cut - real);
	} else {
		head = put_arg(real, cut - real, &args);
		if (args.len)
			strbuf_addf(&text, "%s%.*s", *args.s == '<' ? "" : "<", (int)args.len,
				    args.s);
	}
	free(real);
	real = xasprintf("%s%s", head, text.s);
	free(head);
	strbuf_release(&text);
	return real;
}
