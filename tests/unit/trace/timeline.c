// SPDX-License-Identifier: MIT OR Apache-2.0
/* Ticks become nanoseconds exactly, never backwards, and whatever the anchors say. */
#include "make.h"

#include <string.h>

#include "trace/timeline.h"

#define BASE UINT64_C(1000000000000)

static struct clock_anchor anchor(uint64_t ticks, uint64_t mono_ns)
{
	return (struct clock_anchor){ .ticks = ticks, .mono_ns = mono_ns };
}

/* Proves the formula of docs/FORMAT.md on a 2.6 GHz clock that is corrected every second. */
static void lines_follow_anchors(void **state)
{
	const struct clock_anchor a[] = { anchor(BASE - 2600, 7000000000),
					  anchor(BASE + 2600000000, 8000000123),
					  anchor(BASE + 5200000000, 9000000100) };
	struct timeline t = { 0 };
	uint64_t f = ((unsigned __int128)1000000123 << 40) / 2600002600;
	uint64_t zero = (unsigned __int128)2600 * f >> 40;

	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		timeline_add(&t, &a[i], BASE);
	assert_int_equal(timeline_ns(&t, 0), 0);
	assert_int_equal(timeline_ns(&t, 26000), ((unsigned __int128)28600 * f >> 40) - zero);
	assert_int_equal(timeline_ns(&t, 2600000000), 1000000123 - zero);
	assert_int_equal(timeline_ns(&t, 5200000000),
			 2000000100 - zero - 1); /* f is rounded down */
	assert_in_range(timeline_ns(&t, 7800000000), 2999999076, 2999999078);
	assert_int_equal(timeline_ns(&t, 0), 0);
	timeline_release(&t);
}

/* Proves that time never runs backwards over random anchors, broken ones among them. */
static void time_never_decreases(void **state)
{
	struct rng r = { 3 };

	for (int round = 0; round < 300; round++) {
		struct clock_anchor a[20];
		uint64_t ticks = BASE - rng_below(&r, 1000), ns = rng_next(&r) >> 1, prev = 0;
		struct timeline t = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(a); i++) {
			a[i] = anchor(ticks += rng_below(&r, 500), ns += rng_below(&r, 300));
			if (rng_below(&r, 10) == 0)
				a[i].ticks = rng_next(&r);
			if (rng_below(&r, 10) == 0)
				a[i].mono_ns = rng_next(&r);
		}
		for (size_t nr = rng_below(&r, ARRAY_SIZE(a) + 1), i = 0; i < nr; i++)
			timeline_add(&t, &a[i], BASE);
		assert_int_equal(timeline_ns(&t, 0), 0);
		for (uint64_t tick = 0; tick < 12000; tick += rng_below(&r, 5)) {
			uint64_t now = timeline_ns(&t, tick);

			assert_true(now >= prev);
			prev = now;
		}
		for (int shift = 16; shift < 64; shift++) {
			uint64_t now = timeline_ns(&t, UINT64_C(1) << shift);

			assert_true(now >= prev);
			prev = now;
		}
		assert_true(timeline_ns(&t, UINT64_MAX) >= prev);
		timeline_release(&t);
	}
}

/* Proves that without anchors a tick is a nanosecond. */
static void no_anchor_counts_ticks(void **state)
{
	const struct clock_anchor one = anchor(BASE + 5, 77);

	for (size_t nr = 0; nr < 2; nr++) {
		struct timeline t = { 0 };

		if (nr)
			timeline_add(&t, &one, BASE);
		assert_int_equal(timeline_ns(&t, 0), 0);
		assert_int_equal(timeline_ns(&t, 123456789), 123456789);
		assert_int_equal(timeline_ns(&t, UINT64_MAX), INT64_MAX);
		timeline_release(&t);
	}
}

/* Proves that an anchor leaves the times before the last good one as they are. */
static void settled_times_stay(void **state)
{
	struct rng r = { 5 };

	for (int round = 0; round < 300; round++) {
		struct timeline t = { 0 };
		uint64_t ticks = BASE + 500 - rng_below(&r, 1000), ns = 1 << 20, told[64];

		memset(told, 0, sizeof(told));
		for (size_t i = 0; i < 40; i++) {
			struct clock_anchor a =
				anchor(ticks += rng_below(&r, 300), ns += rng_below(&r, 900));
			uint64_t settled;

			if (rng_below(&r, 8) == 0)
				a.ticks = BASE + rng_below(&r, 6000) - 500;
			timeline_add(&t, &a, BASE);
			settled = timeline_settled(&t);
			for (uint64_t k = 0; k < ARRAY_SIZE(told); k++) {
				uint64_t now = timeline_ns(&t, k * 100);

				if (told[k])
					assert_int_equal(now + 1, told[k]);
				if (k * 100 < settled)
					told[k] = now + 1;
			}
		}
		timeline_release(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_follow_anchors),
		cmocka_unit_test(time_never_decreases),
		cmocka_unit_test(settled_times_stay),
		cmocka_unit_test(no_anchor_counts_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
