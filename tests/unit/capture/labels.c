// SPDX-License-Identifier: MIT OR Apache-2.0
/* What probes call tasks: strings in the region, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "capture/labels.h"

static struct wire_region *region;
static struct labels labels;

static const char *name_of(const char *name, uint32_t nr_candidates)
{
	struct found_table found = { .name = name, .nr_candidates = nr_candidates, .file = "" };
	struct wire_table plan = { .kind = WIRE_TABLE_TOKIO };

	labels_plan(&labels, region, &found, &plan);
	return region->strings + plan.name;
}

static void test_names(void **state)
{
	const char *one = name_of("a::One", 1);

	assert_string_equal(one, "a::One");
	assert_ptr_equal(name_of("a::One", 1), one);
	assert_string_equal(name_of("", 0), "");
	assert_string_equal(name_of("a::One", 0), "a::One");
}

/* Not as a list, of which tracers would show the beginning. */
static void test_merged(void **state)
{
	assert_string_equal(name_of("a::One | b::Two", 2), "a::One or 1 other");
	assert_string_equal(name_of("a::One | b::Two | ?", 4), "a::One or 3 others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_merged),
	};
	int rc;

	region = xaligned_alloc(alignof(struct wire_region), sizeof(*region));
	memset(region, 0, sizeof(*region));
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	labels_release(&labels);
	free(region);
	return rc;
}
