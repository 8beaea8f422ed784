// SPDX-License-Identifier: MIT OR Apache-2.0
/* Sums of the polls of inner futures: what one does inside of itself is not counted twice. */
#include "unit.h"

#include "analyze/inner_polls.h"

static void test_sums(void **state)
{
	static const struct model_future polls[] = {
		{ .future = 1,
		  .start_ns = 10,
		  .end_ns = 40,
		  .self_ns = 30,
		  .flags = EF_FUTURE_READY },
		{ .future = 1,
		  .start_ns = 20,
		  .end_ns = 30,
		  .self_ns = 10,
		  .flags = EF_FUTURE_UNWOUND,
		  .is_recursive = true },
		{ .future = 1,
		  .start_ns = 0,
		  .end_ns = 50,
		  .self_ns = 10,
		  .flags = EF_FUTURE_PENDING },
		{ .future = 2, .start_ns = 0, .end_ns = 5, .self_ns = 5 },
		{ .future = 3, .start_ns = 0, .end_ns = 5, .self_ns = 5 },
	};
	struct recording rec = { .nr_futures = 3 };
	struct inner_polls p;

	inner_polls_init(&p, &rec);
	for (size_t i = 0; i < ARRAY_SIZE(polls); i++)
		inner_polls_ops.future(&p, &polls[i]);
	assert_int_equal(p.nr, 3);
	assert_int_equal(p.v[0].polls, 0);
	assert_int_equal(p.v[1].polls, 3);
	assert_int_equal(p.v[1].total_ns, 80);
	assert_int_equal(p.v[1].self_ns, 50);
	assert_int_equal(p.v[1].max_ns, 50);
	assert_int_equal(p.v[1].nr_ready, 1);
	assert_int_equal(p.v[1].nr_pending, 1);
	assert_int_equal(p.v[1].nr_unwound, 1);
	assert_int_equal(p.v[2].polls, 1);
	assert_int_equal(p.v[2].nr_ready + p.v[2].nr_pending + p.v[2].nr_unwound, 0);
	assert_int_equal(p.nr_unknown, 1);
	inner_polls_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
