// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a field of a CSV line is one field of one line, whatever is in it. */
#include "unit.h"

#include "base/csv.h"

static void test_fields(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "app::serve", "app::serve" },
		{ "a,b", "\"a,b\"" },
		{ "say \"hi\"", "\"say \"\"hi\"\"\"" },
		{ "two\nlines", "two\\x0alines" },
		{ "=1+1", "\"'=1+1\"" },
		{ "-x", "\"'-x\"" },
		{ "\x1b[31m", "\\x1b[31m" },
	};
	struct strbuf b = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&b);
		csv_add(&b, cases[i][0]);
		assert_string_equal(b.s, cases[i][1]);
	}
	strbuf_release(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
