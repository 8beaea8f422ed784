// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/intern.h"

/* Numbers count from 0 in the order of first sight, and equal strings share one. */
static void test_numbers(void **state)
{
	struct intern *in = intern_new();

	assert_int_equal(intern_count(in), 0);
	assert_int_equal(intern_puts(in, "a"), 0);
	assert_int_equal(intern_puts(in, ""), 1);
	assert_int_equal(intern_puts(in, "b"), 2);
	assert_int_equal(intern_puts(in, "a"), 0);
	assert_int_equal(intern_puts(in, ""), 1);
	assert_int_equal(intern_count(in), 3);
	assert_string_equal(intern_get(in, 1), "");
	assert_string_equal(intern_get(in, 2), "b");
	assert_null(intern_get(in, 3));
	assert_null(intern_get(in, UINT32_MAX));
	intern_free(in);
	intern_free(NULL);
}

/* A length cuts the string, so do a NUL, and a prefix of a known string is another string. */
static void test_lengths(void **state)
{
	struct intern *in = intern_new();
	uint32_t ab = intern_put(in, "abc", 2);

	assert_string_equal(intern_get(in, ab), "ab");
	assert_int_equal(intern_puts(in, "ab"), ab);
	assert_int_not_equal(intern_puts(in, "abc"), ab);
	assert_int_not_equal(intern_puts(in, "a"), ab);
	assert_int_equal(intern_put(in, "ab\0c", 4), ab);
	intern_free(in);
}

/* Numbers and strings stay through all growth. */
static void test_many(void **state)
{
	struct intern *in = intern_new();
	const int nr = 20011;
	char text[32];

	for (int i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "string %d", i * 7);
		assert_int_equal(intern_puts(in, text), i);
	}
	for (int i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "string %d", i * 7);
		assert_string_equal(intern_get(in, i), text);
		assert_int_equal(intern_puts(in, text), i);
	}
	assert_int_equal(intern_count(in), nr);
	intern_free(in);
}

/* Strings that are the beginnings of each other stay apart, wherever chance puts them in the table.
 */
static void test_prefixes(void **state)
{
	struct intern *in = intern_new();
	char text[1009];

	memset(text, 'x', sizeof(text));
	for (size_t len = sizeof(text); len > 0; len--)
		assert_int_equal(intern_put(in, text, len), sizeof(text) - len);
	for (size_t len = sizeof(text); len > 0; len--)
		assert_int_equal(strlen(intern_get(in, sizeof(text) - len)), len);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_prefixes),
	};

	return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
