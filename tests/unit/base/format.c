// SPDX-License-Identifier: MIT OR Apache-2.0
/* Numbers for people. */
#include "unit.h"

#include "base/format.h"

#define S UINT64_C(1000000000)

static void check_span(uint64_t ns, const char *want)
{
	char a[FORMAT_SIZE];

	assert_string_equal(format_span(ns, a), want);
}

/* Three digits; minutes up to an hour, and hours from there on. */
static void test_spans(void **state)
{
	check_span(0, "0ns");
	check_span(999, "999ns");
	check_span(1000, "1us");
	check_span(999499, "999us");
	check_span(999500, "1ms");
	check_span(999500000, "1s");
	check_span(99 * S, "99s");
	check_span(100 * S, "1m40s");
	check_span(3600 * S - 1, "59m59s");
	check_span(3600 * S, "1h00m");
	check_span(5997 * S, "1h39m");
	check_span(6240 * S, "1h44m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),
	};

	return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
