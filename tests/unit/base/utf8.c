// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that only valid UTF-8 is taken for such, and that text is as wide as a terminal shows it.
 */
#include "unit.h"

#include <string.h>

#include "base/utf8.h"

static void test_valid(void **state)
{
	static const struct {
		const char *s;
		size_t len;
		uint32_t c;
	} cases[] = {
		{ "a", 1, 'a' },
		{ "\xc2\x80", 2, 0x80 },
		{ "\xdf\xbf", 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 0x800 },
		{ "\xed\x9f\xbf", 3, 0xd7ff },
		{ "\xef\xbf\xbf", 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t c = 0;

		assert_int_equal(utf8_get(cases[i].s, strlen(cases[i].s), &c), cases[i].len);
		assert_int_equal(c, cases[i].c);
		/* cut short it is none */
		assert_int_equal(utf8_len(cases[i].s, cases[i].len - 1), 0);
	}
}

static void test_invalid(void **state)
{
	static const char *const cases[] = {
		"\x80",
		"\xbf",
		"\xc0\x80", /* too long for NUL */
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80", /* a surrogate */
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xfa\x80\x80\x80",
		"\xc3(",
		"\xe2\x82(",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(utf8_len(cases[i], strlen(cases[i])), 0);
}

static void test_columns(void **state)
{
	assert_int_equal(utf8_columns("", 0), 0);
	assert_int_equal(utf8_columns("plain", 5), 5);
	assert_int_equal(utf8_columns("\xc3\xa4\xc3\xb6", 4), 2);
	assert_int_equal(utf8_columns("e\xcc\x81", 3), 1); /* with an accent on top */
	assert_int_equal(utf8_columns("\xe6\xbc\xa2\xe5\xad\x97", 6), 4); /* two wide ones */
	assert_int_equal(utf8_columns("\xe2\x96\x88\xe2\x96\x81", 6), 2); /* blocks */
	assert_int_equal(utf8_columns("\xff\xfe", 2), 2);
}

static void test_controls(void **state)
{
	static const uint32_t bad[] = { 0, 0x1b, 0x7f, 0x80, 0x9b, 0x9f, 0x200e, 0x202e, 0x2066 };
	static const uint32_t good[] = { ' ', '~', 0xa0, 0xe4, 0x2581, 0x6f22, 0x1f600 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(utf8_is_control(bad[i]));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_false(utf8_is_control(good[i]));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
