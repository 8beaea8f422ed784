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

size_t type_args(const char *name, size_t len, struct span *args, size_t max)
{
	struct rust_name n;
	uint32_t group = 0;
	size_t nr = 0;

	rust_name_init(&n, name, len);
	while (group < n.nr &&
	       !(n.nodes[group].kind == RUST_SELF ||
		 (n.nodes[group].kind == RUST_ARGS && rust_name_starts(&n, group, "<"))))
		group++;
	for (uint32_t item = group < n.nr ? n.nodes[group].first : 0; item;
	     item = n.nodes[item].next)
		if (nr++ < max)
			args[nr - 1] = rust_name_span(&n, item);
	rust_name_release(&n);
	return nr;
}

/* The item inside of a wrapper, or inside of `(dyn Trait + Send)`; 0: it is in neither. */
static uint32_t unwrap(const struct rust_name *n, uint32_t item)
{
	uint32_t pinned = rust_name_argument(n, item, "core::pin::Pin"), inner, part;

	inner = rust_name_argument(n, pinned ? pinned : item, "alloc::boxed::Box");
	if (!inner)
		inner = rust_name_argument(n, item, "core::future::from_generator::GenFuture");
	if (inner)
		return inner;
	part = rust_name_only_child(n, item);
	if (!part || n->nodes[part].kind != RUST_TUPLE)
		return 0;
	inner = rust_name_only_child(n, part);
	return inner && rust_name_is(n, n->nodes[inner].first, "dyn") ? inner : 0;
}

char *readable_type(const char *type, size_t len, bool is_closure)
{
	const struct rust_print how = { .readable = true, .is_closure = is_closure };
	struct strbuf out = STRBUF_INIT;
	struct rust_name n;
	uint32_t item;

	rust_name_init(&n, type, len);
	item = rust_name_only_child(&n, RUST_NAME_ROOT);
	for (uint32_t inner = item; inner; inner = unwrap(&n, item))
		item = inner;
	rust_name_print(&out, &n, item ? item : RUST_NAME_ROOT, &how);
	rust_name_release(&n);
	return strbuf_take(&out);
}

/* A type parameter, `T` in `Pool<T>`: a name without a path that begins like a type. */
static bool is_param(const struct rust_name *n, uint32_t node)
{
	const struct rust_node *path = &n->nodes[node];
	uint32_t segment = path->kind == RUST_PATH ? rust_name_only_child(n, node) : 0;

	return segment && n->nodes[segment].kind == RUST_IDENT && !n->nodes[segment].first &&
	       n->text[path->start] >= 'A' && n->text[path->start] <= 'Z' &&
	       !(path->next && rust_name_is(n, path->next, " = ")); /* Item = T */
}

/* Is there one type parameter in the name before `end`, no matter how often? */
static bool has_one_param(const struct rust_name *n, uint32_t end)
{
	struct span param = { NULL, 0 };

	for (uint32_t i = 0; i < n->nr && n->nodes[i].start < end; i++) {
		struct span s = rust_name_span(n, i);

		if (!is_param(n, i))
			continue;
		if (param.s && (s.len != param.len || memcmp(s.s, param.s, s.len) != 0))
			return false;
		param = s;
	}
	return param.s;
}

/*
 * Legacy symbols name an impl block by its parameters, `Pool<T>::get`, and debug info has its and
 * the function's arguments in one list: puts the first in where there is only one parameter. (Which
 * of several is which does not show.) Returns whether it was.
 */
static bool put_arg(struct strbuf *out, const struct rust_name *n, uint32_t end,
		    const struct span *arg)
{
	uint32_t at = 0;

	if (!arg->len || !has_one_param(n, end)) {
		strbuf_add(out, n->text, end);
		return false;
	}
	for (uint32_t i = 0; i < n->nr && n->nodes[i].start < end; i++) {
		if (!is_param(n, i))
			continue;
		strbuf_add(out, n->text + at, n->nodes[i].start - at);
		strbuf_add(out, arg->s, arg->len);
		at = n->nodes[i].end;
	}
	strbuf_add(out, n->text + at, end - at);
	return true;
}

/* Where a path's closures begin, the "::" before them included; 0: it has none. */
static uint32_t closures_start(const struct rust_name *n)
{
	uint32_t path = rust_name_path(n), closure = path ? rust_name_first_closure(n, path) : 0;

	return closure && closure != n->nodes[path].first ? n->nodes[closure].start - 2 : 0;
}

/* The closures of a path in debug info, and the arguments behind them. */
static void add_closures(struct strbuf *out, const struct rust_name *n, bool has_args,
			 bool is_first_put)
{
	uint32_t start = closures_start(n), path = rust_name_path(n);
	uint32_t args = rust_name_args(n, path), first = args ? n->nodes[args].first : 0;
	uint32_t left = is_first_put ? n->nodes[first].next : first;

	strbuf_add(out, n->text + start,
		   (args ? n->nodes[args].start : n->nodes[path].end) - start);
	if (has_args || !left)
		return;
	strbuf_addch(out, '<');
	strbuf_add(out, n->text + n->nodes[left].start, n->nodes[args].end - n->nodes[left].start);
}

char *name_impl(const char *path, const char *linkage_name)
{
	char *text = linkage_name && strstr(path, "{impl#") ? demangle(linkage_name) : NULL;
	bool is_v0 = text && demangle_is_v0(linkage_name), is_put = false; /* has all arguments */
	struct strbuf out = STRBUF_INIT;
	struct rust_name n, real;
	uint32_t cut;

	rust_name_init(&n, path, strlen(path));
	rust_name_init(&real, text ? text : "", text ? strlen(text) : 0);
	cut = closures_start(&real);
	if (!cut || !closures_start(&n)) {
		strbuf_addstr(&out, path);
	} else {
		uint32_t args = rust_name_args(&n, rust_name_path(&n));
		struct span arg = { NULL, 0 };

		if (args && n.nodes[args].first && !is_v0)
			arg = rust_name_span(&n, n.nodes[args].first);
		is_put = put_arg(&out, &real, cut, &arg);
		add_closures(&out, &n, is_v0, is_put);
	}
	rust_name_release(&n);
	rust_name_release(&real);
	free(text);
	return strbuf_take(&out);
}
