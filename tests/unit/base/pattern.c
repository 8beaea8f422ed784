// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <string.h>

#include "base/pattern.h"

static bool fits(const char *pattern, const char *text)
{
	return pattern_fits(pattern, strlen(pattern), text);
}

/* '*' is any text and '?' any character; all else, brackets and backslashes too, is itself. */
static void test_fits(void **state)
{
	static const char *const good[][2] = {
		{ "", "" },	      { "a", "a" },	 { "*", "" },
		{ "*", "abc" },	      { "a*", "a" },	 { "a**c", "abbc" },
		{ "*b*d", "abcbcd" }, { "?", "\u00e4" }, { "a?c", "a\u20acc" },
		{ "?", "\xff" },      { "[", "[" },	 { "[u8; ?]", "[u8; 4]" },
		{ "a[bc]", "a[bc]" }, { "\\", "\\" },	 { "a\\*", "a\\b" },
	};
	static const char *const bad[][2] = {
		{ "", "a" },	    { "a", "" },      { "a", "ab" },	  { "?", "" },
		{ "??", "\u00e4" }, { "*b", "abc" },  { "[ab]", "a" },	  { "a[bc]", "ab" },
		{ "\\a", "a" },	    { "\\*", "abc" }, { "*abd*", "abc" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!fits(good[i][0], good[i][1]))
			fail_msg("%s: not %s", good[i][0], good[i][1]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (fits(bad[i][0], bad[i][1]))
			fail_msg("%s: also %s", bad[i][0], bad[i][1]);
	assert_true(pattern_fits("abc", 2, "ab"));
	assert_false(pattern_fits("ab*", 2, "abc"));
}

/* Without '*' and '?' a part is enough. */
static void test_parts(void **state)
{
	assert_true(pattern_fits_part("b", "abc"));
	assert_true(pattern_fits_part("[", "a[u8]"));
	assert_false(pattern_fits_part("[", "abc"));
	assert_true(pattern_fits_part("*c", "abc"));
	assert_false(pattern_fits_part("*b", "abc"));
}

/* A comma inside of brackets ends no item; an arrow is no bracket. */
static void test_items(void **state)
{
	static const struct {
		const char *list;
		size_t len;
	} cases[] = {
		{ "", 0 },	    { ",a", 0 },
		{ "a,b", 1 },	    { "A<B, C>,d", 7 },
		{ "f(A, B),d", 7 }, { "[A, B],d", 6 },
		{ "{a,b},d", 5 },   { "A<fn(B) -> C, D>,e", 16 },
		{ "a>,b", 2 },	    { "A<,b", 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (pattern_item_len(cases[i].list) != cases[i].len)
			fail_msg("%s: %zu", cases[i].list, pattern_item_len(cases[i].list));
}

/* An item that is empty, or that a bracket lets run into the next one, is refused. */
static void test_check(void **state)
{
	static const char *const bad[] = { "", "A<,b", "A<B,c" }, *const good[] = { "a", "A<",
										    "A<B, C>" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(pattern_item_check(good[i], strlen(good[i]), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(pattern_item_check(bad[i], strlen(bad[i]), &e), -1);
		assert_int_equal(e.tag, ERR_USAGE);
		assert_non_null(strstr(e.msg, bad[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
