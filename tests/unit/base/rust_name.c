// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that names in the spellings of debug info and of symbols get the tree that they should,
 * that any text prints as itself, and that damaged ones are taken as far as they go.
 */
#include "unit.h"

#include <string.h>

#include "base/rust_name.h"

/* The tree as text: K(…) for a node with children, its text for others. */
static void describe(struct strbuf *out, const struct rust_name *n, uint32_t node)
{
	static const char letters[] = "LIPibsatrcw";
	struct span s = rust_name_span(n, node);

	strbuf_addch(out, letters[n->nodes[node].kind]);
	if (!n->nodes[node].first) {
		strbuf_addf(out, "'%.*s'", (int)s.len, s.s);
		return;
	}
	if (n->nodes[node].kind == RUST_IDENT || n->nodes[node].kind == RUST_BRACES)
		strbuf_addf(out, "'%.*s'",
			    (int)(rust_name_head_end(n, node) - n->nodes[node].start), s.s);
	strbuf_addch(out, '(');
	rust_name_each(child, n, node) describe(out, n, child);
	strbuf_addch(out, ')');
}

static const struct {
	const char *text, *tree;
} trees[] = {
	{ "", "L''" },
	{ "app::f", "L(I(P(i'app'i'f')))" },
	{ "app::f<u8>::{closure#0}", "L(I(P(i'app'i'f'(a(I(P(i'u8'))))b'{closure#0}')))" },
	{ "f::<u8>", "L(I(P(i'f'(a(I(P(i'u8')))))))" },
	{ "f::{async_fn_env#0}<u8>", "L(I(P(i'f'b'{async_fn_env#0}'(a(I(P(i'u8')))))))" },
	{ "<T as A>::f", "L(I(P(s(I(P(i'T')w' 'w'as'w' 'P(i'A')))i'f')))" },
	{ "a::<impl B for C>::f",
	  "L(I(P(i'a's(I(w'impl'w' 'P(i'B')w' 'w'for'w' 'P(i'C')))i'f')))" },
	{ "&mut [u8; 5]", "L(I(w'&'w'mut'w' 'r(I(P(i'u8'))I(c'5'))))" },
	{ "(A, B,)", "L(I(t(I(P(i'A'))I(P(i'B')))))" },
	{ "dyn F<O=u8> + S", "L(I(w'dyn'w' 'P(i'F'(a(I(P(i'O')w'='P(i'u8')))))w' + 'P(i'S')))" },
	{ "fn(u8) -> A", "L(I(w'fn't(I(P(i'u8')))w' -> 'P(i'A')))" },
	{ "F<fn() -> A>", "L(I(P(i'F'(a(I(w'fn't'()'w' -> 'P(i'A')))))))" },
	{ "Fn(u8)", "L(I(P(i'Fn'(a(I(P(i'u8')))))))" },
	{ "F<-3_i8,'<',\"a>\">", "L(I(P(i'F'(a(I(c'-3_i8')I(c''<'')I(c'\"a>\"'))))))" },
	{ "&'a T", "L(I(w'&'w''a'w' 'P(i'T')))" },
	{ "a | b", "L(I(P(i'a')w' | 'P(i'b')))" },
	/* brackets without a partner */
	{ "a<b", "L(I(P(i'a')w'<'P(i'b')))" },
	{ "a>b", "L(I(P(i'a')w'>'P(i'b')))" },
	{ "(a<b)", "L(I(t(I(P(i'a')w'<'P(i'b')))))" },
	{ "a::", "L(I(P(i'a')w'::'))" },
	{ "::a", "L(I(w'::'P(i'a')))" },
	{ "'", "L(I(w'''))" },
	{ ",", "L','" },
};

static void test_trees(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		struct strbuf got = STRBUF_INIT;
		struct rust_name n;

		rust_name_init(&n, trees[i].text, strlen(trees[i].text));
		describe(&got, &n, RUST_NAME_ROOT);
		assert_string_equal(got.s, trees[i].tree);
		rust_name_release(&n);
		strbuf_release(&got);
	}
}

static char *print(const char *text, size_t len, struct rust_print how)
{
	struct strbuf out = STRBUF_INIT;
	struct rust_name n;

	rust_name_init(&n, text, len);
	rust_name_print(&out, &n, RUST_NAME_ROOT, &how);
	rust_name_release(&n);
	return strbuf_take(&out);
}

/* Every part of every name, of which no bracket is where it should be. */
static void test_whole(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		for (size_t end = strlen(trees[i].text); end > 0; end--)
			for (size_t start = 0; start < end; start++) {
				char *part = xstrndup(trees[i].text + start, end - start);
				char *got = print(part, end - start, (struct rust_print){ 0 });

				assert_string_equal(got, part);
				free(part);
				free(got);
			}
}

static void test_printed(void **state)
{
	static const struct {
		const char *text, *printed;
		struct rust_print how;
	} cases[] = {
		{ "a::b::c<d::e::F>::g::h", "b::c<e::F>::g::h", { .keep = 2 } },
		{ "a::b::c<d::e::F>::g::h", "c<F>::h", { .keep = 1 } },
		{ "a::b::{async block#0}", "b::{async block#0}", { .keep = 1 } },
		{ "a::b::{async block#0}::c", "c", { .keep = 1 } },
		{ "a::b::f::<c::D>", "f::<D>", { .keep = 1 } },
		{ "a::b::<impl c::D for e::F>::g", "<impl D for F>::g", { .keep = 1 } },
		{ "a::b | c::d", "b | d", { .keep = 1 } },
		/* the closure of an argument ends neither the function's path nor its arguments */
		{ "<a::B<c::d::{closure#0}>>::f::{closure#0}",
		  "a::B<c::d>::f",
		  { .readable = true } },
		{ "a::f::{async_fn_env#0}<b::{closure_env#0}<u8>, u16>",
		  "a::f<b<u8>::{closure#0}, u16>",
		  { .readable = true } },
		{ "<a::B<<T as c::D>::E>>::f", "a::B<<T as c::D>::E>::f", { .readable = true } },
		{ "dyn a::F<u8>+Output = b::C<u8,u16>+c::S",
		  "dyn a::F<u8, Output = b::C<u8, u16>> + c::S",
		  { .readable = true } },
		{ "dyn a::S+Item = u8+Error = u16",
		  "dyn a::S<Item = u8, Error = u16>",
		  { .readable = true } },
		{ "dyn a::Fn(u8)+Output = u16", "dyn a::Fn(u8) -> u16", { .readable = true } },
		{ "a::F<(u8,)>", "a::F<(u8,)>", { .readable = true } },
		{ "a::F<u8,alloc::alloc::Global>", "a::F<u8>", { .readable = true } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = print(cases[i].text, strlen(cases[i].text), cases[i].how);

		assert_string_equal(got, cases[i].printed);
		free(got);
	}
}

static void test_questions(void **state)
{
	static const char text[] = "core::pin::Pin<a::f::{async_fn_env#0}<u8>>";
	struct rust_name n;
	uint32_t path, args;

	rust_name_init(&n, text, strlen(text));
	path = rust_name_path(&n);
	assert_true(rust_name_path_is(&n, path, "core::pin::Pin"));
	assert_false(rust_name_path_is(&n, path, "core::pin"));
	assert_int_equal(rust_name_first_closure(&n, path), 0);
	args = rust_name_args(&n, path);
	assert_true(rust_name_is(&n, n.nodes[args].first, "a::f::{async_fn_env#0}<u8>"));
	path = rust_name_find_path(&n, "a::f::{async_fn_env#0}");
	assert_true(path && path == rust_name_find_path(&n, "a::f::{async_fn_env#0}<u8>"));
	assert_int_equal(rust_name_find_path(&n, "f::{async_fn_env#0}"), 0);
	assert_true(rust_name_starts(&n, rust_name_first_closure(&n, path), "{async_fn_env#0}"));
	assert_int_equal(rust_name_argument(&n, n.nodes[0].first, "core::pin::Pin"),
			 n.nodes[args].first);
	assert_int_equal(rust_name_argument(&n, n.nodes[0].first, "core::pin::Pinned"), 0);
	rust_name_release(&n);
}

static void test_crate(void **state)
{
	static const char *const cases[][2] = {
		{ "app::f", "app" },
		{ "&<app::Conn<u8> as tower::Service>::call", "app" },
		{ "&mut dyn app::Run", "app" },
		{ "app<u8>", "app" },
		{ "()", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rust_name n;
		struct span s;

		rust_name_init(&n, cases[i][0], strlen(cases[i][0]));
		s = rust_name_crate(&n, RUST_NAME_ROOT);
		assert_int_equal(s.len, strlen(cases[i][1]));
		assert_memory_equal(s.s, cases[i][1], s.len);
		rust_name_release(&n);
	}
}

/* Depth and size have limits: beyond them the text stays as it is. */
static void test_limits(void **state)
{
	static const char pairs[][2] = { { '<', '>' }, { '(', ')' }, { '<', '<' }, { '(', '>' } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		for (size_t nr = 10; nr < 10000000; nr *= 100) {
			char *text = xmalloc(2 * nr + 1), *got;

			memset(text, pairs[i][0], nr);
			memset(text + nr, pairs[i][1], nr);
			text[2 * nr] = '\0';
			got = print(text, 2 * nr, (struct rust_print){ 0 });
			assert_true(strcmp(got, text) == 0);
			free(got);
			got = print(text, 2 * nr, (struct rust_print){ .readable = true });
			assert_true(strcmp(got, text) == 0);
			free(got);
			free(text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),	cmocka_unit_test(test_whole),
		cmocka_unit_test(test_printed), cmocka_unit_test(test_questions),
		cmocka_unit_test(test_crate),	cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
