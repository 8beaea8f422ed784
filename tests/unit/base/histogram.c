// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that percentiles are those of a sorted list, up to the width of a bucket, and never beyond
 * the greatest value. */
#include "unit.h"

#include "base/histogram.h"

#define NR 10007

static int ascending(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

/* The bucket that a value which was added lies in. */
static struct histogram_bin bin_of(const struct histogram *h, uint64_t value)
{
	struct histogram_bin bin;
	unsigned pos = 0;

	while (histogram_next(h, &pos, &bin))
		if (value <= bin.high)
			return bin;
	fail_msg("no bucket has %ju", (uintmax_t)value);
	return bin;
}

static void test_percentiles_of_a_sorted_list(void **state)
{
	static uint64_t values[NR];
	struct histogram h = { 0 };
	uint64_t x = 88172645463325252u;

	for (size_t i = 0; i < NR; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		values[i] = x >> (x % 64);
		histogram_add(&h, values[i]);
	}
	qsort(values, NR, sizeof(values[0]), ascending);
	assert_int_equal(h.nr, NR);
	assert_int_equal(h.max, values[NR - 1]);
	for (unsigned p = 1; p <= 100; p++) {
		uint64_t rank = (NR * p + 99) / 100, truth = values[rank - 1];

		struct histogram_bin bin = bin_of(&h, truth);

		assert_true(bin.low <= truth);
		assert_true(bin.high - bin.low <= truth / 32);
		assert_int_equal(histogram_percentile(&h, p), MIN(bin.high, h.max));
	}
	histogram_release(&h);
}

static void test_small_values_are_exact(void **state)
{
	struct histogram h = { 0 };

	assert_int_equal(histogram_percentile(&h, 50), 0);
	for (uint64_t v = 0; v < 32; v++)
		histogram_add(&h, v);
	assert_int_equal(histogram_percentile(&h, 50), 15);
	assert_int_equal(histogram_percentile(&h, 100), 31);
	histogram_release(&h);
}

static void test_merge_and_walk(void **state)
{
	struct histogram a = { 0 }, b = { 0 };
	struct histogram_bin bin;
	unsigned pos = 0;
	uint64_t nr = 0, last = 0;

	histogram_add(&a, 7);
	histogram_add(&a, UINT64_MAX);
	histogram_add(&b, 7);
	histogram_add(&b, 1000);
	histogram_merge(&a, &b);
	while (histogram_next(&a, &pos, &bin)) {
		assert_true(bin.low >= last && bin.high >= bin.low);
		last = bin.high;
		nr += bin.nr;
	}
	assert_int_equal(nr, 4);
	assert_int_equal(last, UINT64_MAX);
	assert_int_equal(a.max, UINT64_MAX);
	assert_int_equal(histogram_percentile(&a, 50), 7);
	histogram_release(&a);
	histogram_release(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles_of_a_sorted_list),
		cmocka_unit_test(test_small_values_are_exact),
		cmocka_unit_test(test_merge_and_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
