// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that no nanosecond is lost or counted twice, whatever the intervals and the bins. */
#include "unit.h"

#include "model/load.h"

static void test_parts(void **state)
{
	struct load *l = load_new(1000, 2000, 10);

	assert_int_equal(load_get_nr_bins(l), 10);
	assert_int_equal(load_get_bin_ns(l), 100);
	load_add(l, 1150, 1160); /* inside of a bin */
	load_add(l, 1190, 1420); /* over several */
	load_add(l, 1100, 1200); /* one exactly */
	load_add(l, 500, 1010);	 /* from before */
	load_add(l, 1990, 9000); /* to behind */
	load_add(l, 300, 1000);	 /* outside */
	load_add(l, 2000, 2001);
	load_add(l, 1500, 1500); /* nothing */
	assert_int_equal(load_get(l, 0), 10);
	assert_int_equal(load_get(l, 1), 10 + 10 + 100);
	assert_int_equal(load_get(l, 2), 100);
	assert_int_equal(load_get(l, 3), 100);
	assert_int_equal(load_get(l, 4), 20);
	assert_int_equal(load_get(l, 9), 10);
	assert_int_equal(load_get(l, 2), 100); /* back again */
	assert_int_equal(load_get(l, 10), 0);
	load_add(l, 1000, 2000); /* and one more, after asking */
	assert_int_equal(load_get(l, 5), 100);
	assert_int_equal(load_get(l, 9), 110);
	load_free(l);
}

/* The width is rounded up: the last bin is cut, some are not there at all. */
static void test_width(void **state)
{
	struct load *l = load_new(0, 95, 10);

	assert_int_equal(load_get_bin_ns(l), 10);
	assert_int_equal(load_get_nr_bins(l), 10);
	assert_int_equal(load_get_bin_start(l, 9), 90);
	assert_int_equal(load_get_bin_span(l, 8), 10);
	assert_int_equal(load_get_bin_span(l, 9), 5);
	load_free(l);
	l = load_new(7, 10, 4096);
	assert_int_equal(load_get_bin_ns(l), 1);
	assert_int_equal(load_get_nr_bins(l), 3);
	load_add(l, 0, UINT64_MAX);
	assert_int_equal(load_get(l, 2), 1);
	load_free(l);
	l = load_new(7, 7, 16); /* an empty recording */
	assert_int_equal(load_get_nr_bins(l), 1);
	assert_int_equal(load_get(l, 0), 0);
	load_free(l);
}

static void check_random(uint64_t *rnd, uint64_t from, uint64_t to, uint32_t nr_bins)
{
	struct load *l = load_new(from, to, nr_bins);
	uint32_t nr = load_get_nr_bins(l);
	uint64_t *want = test_calloc(nr, sizeof(*want));

	assert_true(nr <= nr_bins);
	for (int i = 0; i < 40; i++) {
		uint64_t a = from + unit_random(rnd) % (to - from);
		uint64_t b = a + unit_random(rnd) % (to - a + 1);

		load_add(l, a, b);
		for (uint32_t bin = 0; bin < nr; bin++) {
			uint64_t low = load_get_bin_start(l, bin);
			uint64_t high = low + load_get_bin_span(l, bin);

			low = MAX(low, a);
			high = MIN(high, b);
			want[bin] += high > low ? high - low : 0;
		}
	}
	for (uint32_t bin = 0; bin < nr; bin++)
		assert_int_equal(load_get(l, bin), want[bin]);
	test_free(want);
	load_free(l);
}

static void test_random(void **state)
{
	uint64_t rnd = 7;

	for (int i = 0; i < 400; i++) {
		uint64_t from = unit_random(&rnd) % 3 ? unit_random(&rnd) >> 20 : 0;
		uint64_t span = 1 + (unit_random(&rnd) >> (2 + unit_random(&rnd) % 62));

		check_random(&rnd, from, from + span, 1 + unit_random(&rnd) % 50);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
