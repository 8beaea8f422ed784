// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that long type names lose what tells least first, and always fit. */
#include "base/candidates.h"
#include "unit.h"

#include "model/shorten.h"

static void assert_short(const char *name, size_t width, const char *expected)
{
	struct strbuf out = STRBUF_INIT;

	shorten_type(&out, name, width);
	assert_string_equal(out.s, expected);
	strbuf_release(&out);
}

static void test_modules_go_first(void **state)
{
	assert_short("a::b::f", 7, "a::b::f");
	assert_short("app::server::conn::handle", 19, "conn::handle");
	assert_short("app::server::conn::handle", 20, "server::conn::handle");
	assert_short("app::server::handle::{async_fn#0}", 25, "handle::{async_fn#0}");
	assert_short("tokio::time::Timeout<app::net::fetch>", 32, "time::Timeout<net::fetch>");
	assert_short("tokio::time::Timeout<app::net::fetch>", 14, "Timeout<fetch>");
	assert_short("&(a::b::C, [d::e::F; 4])", 16, "&(C, [F; 4])");
	assert_short("<a::b::T as c::d::Trait>::call::{closure#0}", 32,
		     "<T as Trait>::call::{closure#0}");
	assert_short("a::f<b::c::T>::{async block#0}", 24, "f<T>::{async block#0}");
}

static void test_then_the_middle(void **state)
{
	assert_short("abcdefghijklmnop", 8, "abc..nop");
	assert_short("abcdefghijklmnop", 2, "ab");
	assert_short("abc", 0, "");
}

/* No bracket loses its partner. */
static void test_brackets(void **state)
{
	assert_short("into_py<TokioRuntime, run<Get<u8>>::{closure#0}>::{closure#1}", 32,
		     "into_py<TokioRun..>::{closure#1}");
	assert_short("<Pool<T> as Get<Conn>>::get::{closure#0}", 30,
		     "<Pool<T> ..>::get::{closure#0}");
	assert_short("Map<A, fn(Bcdefghijkl) -> Cdefghi>", 20, "Map<A, fn.. Cdefghi>");
	assert_short("dyn Fn(Abcdefghijklm) -> X + Send", 24, "dyn Fn(Ab..) -> X + Send");
	assert_short("[Abcdefghijklmn; {const}]", 16, "[Abcde..{const}]");
	assert_short("f<'<', Abcdefghijklmnopq>", 16, "f<'<', ..lmnopq>");
	assert_short("a::{impl#3}::r#match<T>::{shim:vtable#0}", 20, "r#m..{shim:vtable#0}");
	assert_short("f<Abcdefghij", 8, "f<A..hij");
	assert_short("Vec<\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4>", 10, "Vec<..\xc3\xa4>");
}

/* Where the place is told, too, two instances of a generic function are told by their arguments. */
static void test_bodies(void **state)
{
	static const struct {
		const char *name;
		size_t width;
		const char *expected;
	} cases[] = {
		{ "a::spawn<b::naps>::{async block#0}", 12, "spawn<naps>" },
		{ "a::spawn<b::top::{async block#1}>::{async block#0}", 12, "spawn<top..>" },
		{ "a::spawn<b::naps>::{async block#0}", 28, "spawn<naps>::{async block#0}" },
		{ "a::f::{closure#3}::{async block#0}", 4, "f" },
		{ "a::f::{closure#3}", 17, "a::f::{closure#3}" },
		{ "{closure#3}", 8, "{cl..#3}" },
		{ "}", 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT;

		shorten_body(&out, cases[i].name, cases[i].width);
		assert_string_equal(out.s, cases[i].expected);
		strbuf_release(&out);
	}
}

static void add_line(void *arg, const char *name, size_t len)
{
	strbuf_addf(arg, "%.*s\n", (int)len, name);
}

static void assert_candidates(const char *names, uint32_t nr, const char *label, const char *lines)
{
	struct strbuf out = STRBUF_INIT;

	label_candidates(&out, names, nr);
	assert_string_equal(out.s, label);
	strbuf_reset(&out);
	candidates_each(names, add_line, &out);
	assert_string_equal(out.s, lines);
	strbuf_release(&out);
}

static void test_candidates(void **state)
{
	assert_candidates("x::a", 1, "x::a", "x::a\n");
	assert_candidates("x::a | x::b", 2, "x::a or 1 other", "x::a\nx::b\n");
	assert_candidates("x::a | x::b | ?", 9, "x::a or 8 others", "x::a\nx::b\n");
	assert_candidates("", 0, "", "");
	assert_candidates("?", 0, "?", "");
	assert_candidates(" | ", 2, " or 1 other", "\n");
}

/* No control byte of the target reaches a terminal, no UTF-8 sequence is torn. */
static void test_bytes(void **state)
{
	assert_short("a\x1b[2Jb", 20, "a\\x1b[2Jb");
	assert_short("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5, "..\xc3\xa4");
}

static void assert_front(const char *text, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	shorten_front(&out, text, width);
	assert_string_equal(out.s, want);
	strbuf_release(&out);
}

/* Of a place the line stays. */
static void test_front(void **state)
{
	assert_front("src/main.rs:12", 14, "src/main.rs:12");
	assert_front("src/main.rs:12", 12, "..main.rs:12");
	assert_front("src/main.rs:12", 5, "..:12");
	assert_front("\xc3\xa4\xc3\xa4:1", 5, "..:1");
	assert_front("a:12", 2, "12");
	assert_front("a:12", 0, "");
}

static void assert_place(const char *file, size_t width, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	shorten_place(&out, file, 12, width);
	assert_string_equal(out.s, want);
	strbuf_release(&out);
}

/* All of a path that fits; else the file and its folder. src/lib.rs says whose it is, if that fits.
 */
static void test_place(void **state)
{
	assert_place("/w/me/shop/src/main.rs", 40, "/w/me/shop/src/main.rs:12");
	assert_place("/w/me/shop/src/main.rs", 23, "src/main.rs:12");
	assert_place("/w/me/shop/src/cart/list.rs", 24, "cart/list.rs:12");
	assert_place("/w/me/till/src/lib.rs", 23, "till/src/lib.rs:12");
	assert_place("/w/me/till/src/lib.rs", 18, "till/src/lib.rs:12");
	assert_place("/w/me/till/src/lib.rs", 17, "src/lib.rs:12");
	assert_place("/w/me/till/src/xlib.rs", 20, "src/xlib.rs:12");
	assert_place("src/lib.rs", 5, "src/lib.rs:12");
}

/* A dependency's file keeps the name of its crate as long as that fits, so that nobody takes it for
 * one of the program's own. */
static void test_fetched_place(void **state)
{
	static const char hyper[] = "/c/registry/src/index-1/hyper-1.2.3/src/proto/h1/conn.rs";
	static const char checkout[] = "/c/git/checkouts/hyper-0123456789abcdef/1a2b3c4/src/ext.rs";

	assert_place("/c/registry/src/index-1/till-1.2.3/src/lib.rs", 24,
		     "till-1.2.3/src/lib.rs:12");
	assert_place("/c/registry/src/index-1/till-1.2.3/src/server.rs", 26,
		     "till/src/server.rs:12");
	assert_place("/c/registry/src/index-1/till-1.2.3/src/server.rs", 20, "till/..server.rs:12");
	assert_place("/c/registry/src/index-1/till-1.2.3/src/server.rs", 18, "src/server.rs:12");
	assert_place(hyper, 35, "hyper-1.2.3/src/proto/h1/conn.rs:12");
	assert_place(hyper, 34, "hyper/src/proto/h1/conn.rs:12");
	assert_place(hyper, 28, "hyper/..h1/conn.rs:12");
	assert_place(hyper, 20, "hyper/..conn.rs:12");
	assert_place(hyper, 17, "h1/conn.rs:12");
	assert_place("/c/registry/src/index-1/h2-x-0.4.5/src/a.rs", 16, "h2-x/src/a.rs:12");
	assert_place("/c/registry/src/index-1/h2-3/src/a.rs", 16, "h2-3/src/a.rs:12");
	assert_place(checkout, 40, "hyper/src/ext.rs:12");
	assert_place(checkout, 17, "hyper/..ext.rs:12");
	assert_place("/c/git/checkouts/short/1a2b3c4/src/ext.rs", 20, "src/ext.rs:12");
	assert_place("/w/me/shop/vendor/hyper/src/ext.rs", 20, "hyper/src/ext.rs:12");
	assert_place("vendor/hyper/src/ext.rs", 20, "hyper/src/ext.rs:12");
	assert_place("/w/me/shop/src/vendor/hyper/ext.rs", 20, "hyper/ext.rs:12");
	assert_place("/c/registry/src/index-1", 12, "src/index-1:12");
	assert_place("/c/registry/src/index-1/a.rs", 12, "index-1/a.rs:12");
	assert_place("hyper-1.2.3/src/ext.rs", 20, "hyper/src/ext.rs:12");
	assert_place("hyper-1.40-mine/src/ext.rs", 20, "src/ext.rs:12"); /* no whole version */
	assert_place("/c/git/checkouts/", 4, "checkouts/:12");
}

static void test_always_fits(void **state)
{
	static const char alphabet[] = "ab::<>{}#0, \xc3\xa4&";
	uint64_t rnd = 42;

	for (int i = 0; i < 20000; i++) {
		struct strbuf name = STRBUF_INIT, out = STRBUF_INIT;
		size_t len = unit_random(&rnd) % 80, width = unit_random(&rnd) % 60;

		while (name.len < len)
			strbuf_addch(&name, alphabet[unit_random(&rnd) % (sizeof(alphabet) - 1)]);
		shorten_type(&out, name.s, width);
		assert_true(out.len <= width);
		strbuf_release(&name);
		strbuf_release(&out);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules_go_first),
		cmocka_unit_test(test_then_the_middle),
		cmocka_unit_test(test_brackets),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_fetched_place),
		cmocka_unit_test(test_front),
		cmocka_unit_test(test_always_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
