// SPDX-License-Identifier: MIT OR Apache-2.0
/* The printer: a parsed name as it was, with shorter paths, or in the spelling for people. */
#include <string.h>

#include "base/rust_name.h"

struct printer {
	struct strbuf *out;
	const struct rust_name *n;
	const struct rust_print *how;
	uint32_t end; /* of all that is printed */
};

static void print_node(struct printer *p, uint32_t node);

static const struct rust_node *get(const struct printer *p, uint32_t node)
{
	return &p->n->nodes[node];
}

static void print_text(struct printer *p, uint32_t start, uint32_t end)
{
	strbuf_add(p->out, p->n->text + start, end - start);
}

/* The node's own text, and its children where they are. */
static void print_plain(struct printer *p, uint32_t node)
{
	uint32_t at = get(p, node)->start;

	rust_name_each(child, p->n, node)
	{
		print_text(p, at, get(p, child)->start);
		print_node(p, child);
		at = get(p, child)->end;
	}
	print_text(p, at, get(p, node)->end);
}

/* ---- shorter paths ---- */

/*
 * A run of segments ends with one that has arguments, or brackets of its own: `a::b<T>::c::d` has
 * two. {closure#0} and the like belong to the segment before them.
 */
static bool ends_run(const struct printer *p, uint32_t segment)
{
	return get(p, segment)->kind == RUST_SELF || get(p, segment)->first ||
	       !get(p, segment)->next;
}

/* The first segment that is printed of the run that begins here. */
static uint32_t first_kept(const struct printer *p, uint32_t begin)
{
	unsigned nr = 0;
	uint32_t segment;

	for (segment = begin;; segment = get(p, segment)->next) {
		nr += get(p, segment)->kind != RUST_BRACES;
		if (ends_run(p, segment))
			break;
	}
	if (nr < p->how->keep)
		return begin;
	for (segment = begin;; segment = get(p, segment)->next)
		if (get(p, segment)->kind != RUST_BRACES && nr-- == p->how->keep)
			return segment;
}

static void print_cut_path(struct printer *p, uint32_t path)
{
	uint32_t segment = get(p, path)->first;

	for (bool is_first_run = true; segment; is_first_run = false) {
		bool has_colons = !is_first_run, is_last = false;

		for (segment = first_kept(p, segment); !is_last; segment = get(p, segment)->next) {
			is_last = ends_run(p, segment);
			strbuf_addstr(p->out, has_colons ? "::" : "");
			print_plain(p, segment);
			has_colons = true;
		}
	}
}

/* ---- for people ---- */

/* How a closure's segment is spelled, and what it becomes. */
struct spelling {
	const char *head, *becomes; /* NULL: the body of an async fn, which is left out */
	bool is_symbol;		    /* may be the body of an async fn, too */
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

static const struct spelling *spelling_of(const struct printer *p, uint32_t segment)
{
	if (get(p, segment)->kind == RUST_BRACES)
		for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
			if (rust_name_starts(p->n, segment, spellings[i].head))
				return &spellings[i];
	return NULL;
}

/* Where the closures that follow each other begin in the output. */
struct chain {
	bool is_open;
	size_t at;
};

/* Debug info has the function's arguments behind its closures: `f::{async_block_env#0}<u32>`. */
static void move_args(struct printer *p, uint32_t segment, const struct chain *c)
{
	char *closures = xstrdup(p->out->s + c->at);

	p->out->len = c->at;
	rust_name_each(args, p->n, segment) print_node(p, args);
	strbuf_addstr(p->out, closures);
	free(closures);
}

static void print_closure(struct printer *p, uint32_t segment, const struct spelling *sp,
			  struct chain *c, bool is_first)
{
	uint32_t rest = get(p, segment)->start + strlen(sp->head);
	uint32_t end = rust_name_head_end(p->n, segment);
	bool is_end = p->how->is_closure && end == p->end;
	/* An async fn's body is the first closure in it, counted from 0. */
	bool may_be_fn = sp->is_symbol && !c->is_open && !is_end &&
			 (end - rest == 1 || (end - rest == 2 && p->n->text[rest] == '0'));

	if (!c->is_open)
		*c = (struct chain){ true, p->out->len };
	if (sp->becomes && !may_be_fn) {
		strbuf_addf(p->out, "%s%s", is_first ? "" : "::", sp->becomes);
		print_text(p, rest, end);
	}
	if (get(p, segment)->first)
		move_args(p, segment, c);
}

/* `<app::Conn>::run` of v0 is `app::Conn::run`; `<T as Trait>::run` and `<impl …>::run` stay. */
static bool is_bare_self(const struct printer *p, uint32_t segment)
{
	uint32_t item = rust_name_only_child(p->n, segment);

	if (!item || !get(p, segment)->next)
		return false;
	rust_name_each(part, p->n, item) if (rust_name_is(p->n, part, "as") ||
					     rust_name_is(p->n, part, "impl")) return false;
	return true;
}

static void print_segment(struct printer *p, uint32_t segment)
{
	if (get(p, segment)->kind == RUST_SELF) {
		print_node(p, segment);
		return;
	}
	print_text(p, get(p, segment)->start, rust_name_head_end(p->n, segment));
	rust_name_each(args, p->n, segment) print_node(p, args);
}

static void print_readable_path(struct printer *p, uint32_t path)
{
	uint32_t first = get(p, path)->first;
	struct chain chain = { 0 };

	rust_name_each(segment, p->n, path)
	{
		const struct spelling *sp = spelling_of(p, segment);

		if (sp) {
			print_closure(p, segment, sp, &chain, segment == first);
			continue;
		}
		chain.is_open = false;
		if (segment != first)
			strbuf_addstr(p->out, "::");
		if (segment == first && get(p, segment)->kind == RUST_SELF &&
		    is_bare_self(p, segment))
			print_node(p, rust_name_only_child(p->n, segment));
		else
			print_segment(p, segment);
	}
}

/* Every Box and Arc has it: noise. */
static bool is_default_allocator(const struct printer *p, uint32_t item)
{
	return rust_name_is(p->n, item, "alloc::alloc::Global");
}

static void print_readable_list(struct printer *p, uint32_t list)
{
	uint32_t at = get(p, list)->start, first = get(p, list)->first;

	rust_name_each(item, p->n, list)
	{
		uint32_t start = get(p, item)->start;

		if (item == first || !is_default_allocator(p, item)) {
			print_text(p, at, start);
			if (item != first && p->n->text[start - 1] == ',')
				strbuf_addch(p->out, ' ');
			print_node(p, item);
		}
		at = get(p, item)->end;
	}
	print_text(p, at, get(p, list)->end);
}

/* Is this the name in `+Output = u32`, which legacy symbols have for `<Output = u32>`? */
static bool is_legacy_binding(const struct printer *p, uint32_t path)
{
	uint32_t segment =
		path && get(p, path)->kind == RUST_PATH ? rust_name_only_child(p->n, path) : 0;

	return segment && get(p, segment)->kind == RUST_IDENT && !get(p, segment)->first &&
	       get(p, path)->next && rust_name_is(p->n, get(p, path)->next, " = ");
}

/*
 * Puts a binding among the arguments of the trait that was printed before it: `Fn(u8) -> u32`,
 * `Future<Output = u32>`, `Service<u8, Response = u32>`. Returns its last part.
 */
static uint32_t print_binding(struct printer *p, uint32_t path)
{
	char before = p->out->len ? p->out->s[p->out->len - 1] : ' ';
	bool is_arrow = before == ')' && rust_name_is(p->n, path, "Output");
	uint32_t last = get(p, path)->next;

	if (is_arrow) {
		strbuf_addstr(p->out, " -> ");
	} else {
		p->out->len -= before == '>';
		strbuf_addstr(p->out, before == '>' ? ", " : "<");
		print_node(p, path);
		strbuf_addstr(p->out, " = ");
	}
	while (get(p, last)->next && !rust_name_is(p->n, get(p, last)->next, "+")) {
		last = get(p, last)->next;
		print_node(p, last);
	}
	if (!is_arrow)
		strbuf_addch(p->out, '>');
	return last;
}

static void print_readable_item(struct printer *p, uint32_t item)
{
	for (uint32_t part = get(p, item)->first; part; part = get(p, part)->next) {
		uint32_t next = get(p, part)->next;
		bool is_between = next && part != get(p, item)->first;

		if (is_between && rust_name_is(p->n, part, "="))
			strbuf_addstr(p->out, " = ");
		else if (is_between && rust_name_is(p->n, part, "+") && is_legacy_binding(p, next))
			part = print_binding(p, next);
		else if (is_between && rust_name_is(p->n, part, "+"))
			strbuf_addstr(p->out, " + ");
		else
			print_node(p, part);
	}
}

/* Legacy symbols spell the constant 5 as `5_usize`. */
static void print_readable_const(struct printer *p, uint32_t node)
{
	static const char *const types[] = { "usize", "isize", "u128", "i128", "u64", "i64",
					     "u32",   "i32",   "u16",  "i16",  "u8",  "i8" };
	struct span s = rust_name_span(p->n, node);
	const char *at = memchr(s.s, '_', s.len);

	for (size_t i = 0; at && i < ARRAY_SIZE(types); i++)
		if ((size_t)(s.s + s.len - at) == strlen(types[i]) + 1 &&
		    memcmp(at + 1, types[i], strlen(types[i])) == 0)
			s.len = at - s.s;
	strbuf_add(p->out, s.s, s.len);
}

static void print_readable(struct printer *p, uint32_t node)
{
	switch (get(p, node)->kind) {
	case RUST_PATH:
		print_readable_path(p, node);
		break;
	case RUST_LIST:
	case RUST_SELF:
	case RUST_ARGS:
	case RUST_TUPLE:
	case RUST_ARRAY:
		print_readable_list(p, node);
		break;
	case RUST_ITEM:
		print_readable_item(p, node);
		break;
	case RUST_CONST:
		print_readable_const(p, node);
		break;
	default:
		print_plain(p, node);
	}
}

static void print_node(struct printer *p, uint32_t node)
{
	if (p->how->readable)
		print_readable(p, node);
	else if (p->how->keep && get(p, node)->kind == RUST_PATH)
		print_cut_path(p, node);
	else
		print_plain(p, node);
}

void rust_name_print(struct strbuf *out, const struct rust_name *n, uint32_t node,
		     const struct rust_print *how)
{
	struct printer p = { .out = out, .n = n, .how = how, .end = n->nodes[node].end };

	print_node(&p, node);
}
