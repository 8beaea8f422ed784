// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Any text as a Rust name: the parser makes a sound tree of it, the tree prints as the text that it
 * was made of, and every other printer and question stays within it. The text is tried as a type,
 * as a symbol and, up to the first line feed, as the path of debug info that the rest is the symbol
 * of.
 */
#include <string.h>

#include "model/shorten.h"
#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_ARGS 3

static void must(bool condition)
{
	if (!condition)
		__builtin_trap();
}

/* Children lie in their parent, in order; what holds what is as the header says. */
static void check_node(const struct rust_name *n, uint32_t node)
{
	static const unsigned parts = 1 << RUST_PATH | 1 << RUST_TUPLE | 1 << RUST_ARRAY |
				      1 << RUST_CONST | 1 << RUST_WORD,
			      items = 1 << RUST_ITEM;
	static const unsigned below[] = {
		[RUST_LIST] = items,
		[RUST_ITEM] = parts,
		[RUST_PATH] = 1 << RUST_IDENT | 1 << RUST_BRACES | 1 << RUST_SELF,
		[RUST_IDENT] = 1 << RUST_ARGS,
		[RUST_BRACES] = 1 << RUST_ARGS,
		[RUST_SELF] = items,
		[RUST_ARGS] = items,
		[RUST_TUPLE] = items,
		[RUST_ARRAY] = items,
		[RUST_CONST] = 0,
		[RUST_WORD] = 0,
	};
	const struct rust_node *v = &n->nodes[node];
	uint32_t at = v->start;

	must(v->start < v->end || node == RUST_NAME_ROOT);
	must(v->first || (v->kind != RUST_ITEM && v->kind != RUST_PATH));
	rust_name_each(child, n, node)
	{
		const struct rust_node *c = &n->nodes[child];

		must(child > node && child < n->nr && c->start >= at && c->end <= v->end);
		must(below[v->kind] & 1u << c->kind);
		must(v->kind != RUST_ITEM || c->start == at); /* nothing between its parts */
		at = c->end;
	}
	must(v->kind != RUST_ITEM || at == v->end);
}

static void check_prints(const struct rust_name *n, size_t len)
{
	struct strbuf out = STRBUF_INIT;

	rust_name_print(&out, n, RUST_NAME_ROOT, &(struct rust_print){ 0 });
	must(out.len == len && memcmp(out.s, n->text, len) == 0);
	for (unsigned keep = 1; keep < 5; keep++) {
		strbuf_reset(&out);
		rust_name_print(&out, n, RUST_NAME_ROOT, &(struct rust_print){ .keep = keep });
		must(out.len <= len);
	}
	strbuf_release(&out);
}

static void check_type(const char *text, size_t len)
{
	struct span args[MAX_ARGS];
	size_t nr = type_args(text, len, args, MAX_ARGS);

	for (size_t i = 0; i < MIN(nr, (size_t)MAX_ARGS); i++)
		must(args[i].s > text && args[i].s + args[i].len < text + len);
	free(readable_type(text, len, false));
	free(readable_type(text, len, true));
}

static void check_symbol(const char *path, const char *symbol)
{
	char *name = demangle(symbol);

	if (name)
		check_type(name, strlen(name));
	free(name_impl(path, symbol));
	free(name);
}

static void check_shorten(const char *text)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t width = 10; width < 100; width += 40) {
		strbuf_reset(&out);
		shorten_type(&out, text, width);
		must(out.len <= width);
		strbuf_reset(&out);
		shorten_body(&out, text, width);
		must(out.len <= width);
	}
	strbuf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(size + 1), *text; /* of that very size, so that ASan sees its end */
	const char *feed;
	struct rust_name n;

	if (size)
		memcpy(copy, data, size);
	text = xstrndup(copy, size);
	copy = xrealloc(copy, size ? size : 1);
	rust_name_init(&n, copy, size);
	for (uint32_t i = 0; i < n.nr; i++)
		check_node(&n, i);
	check_prints(&n, size);
	rust_name_release(&n);
	check_type(copy, size);
	check_shorten(text);
	check_symbol("a::{impl#0}::f::{async_fn_env#0}<u8, b::C<d>>", text);
	feed = strchr(text, '\n');
	if (feed) {
		char *path = xstrndup(text, feed - text);

		check_symbol(path, feed + 1);
		free(path);
	}
	free(text);
	free(copy);
	return 0;
}
