// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which kernels may replace a probe's site by a call. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/probes_priv.h"

static void only_kernels_that_are_known_to_undo_it(void **state)
{
	static const char *const good[] = { "6.18.40", "6.18.44-fc-v490", "6.18.100-1-lts",
					    "7.1.5",   "7.1.12-arch1-1",  "7.2.1" };
	static const char *const bad[] = {
		"",	    "6",	"6.18",	     "6.18.",	 "6.18.39",  "6.18.0-40.el10",
		"6.18-40",  "6.1.40",	"6.17.99",   "6.19.40",	 "7.0.50",   "7.3.5",
		"7.1.4",    "7.1.0-50", "7.2.0-rc1", "7.10.5",	 "8.1.5",    "16.18.40",
		"6.180.40", "5.15.40",	"2.6.18.40", "x6.18.40", "6.18.x40", "99999999999.1.5",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(probes_kernel_undoes_calls(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(probes_kernel_undoes_calls(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_kernels_that_are_known_to_undo_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
