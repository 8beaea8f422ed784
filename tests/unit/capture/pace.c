// SPDX-License-Identifier: MIT OR Apache-2.0
/* How long the recorder pauses between two rounds. */
#include "capture/pace.h"

#include "unit.h"

#include "capture/lobby.h"

#define MS	  UINT64_C(1000000)
#define LARGE	  (LOBBY_RING_DEFAULT / sizeof(uint64_t))
#define FEW_WORDS 100

/* The pause that a program comes to which writes so many words a millisecond into one ring. */
static uint64_t settled(uint64_t ring_words, uint64_t words_per_ms)
{
	uint64_t wait = PACE_MIN_NS;

	for (int i = 0; i < 100; i++)
		wait = pace_next_ns(ring_words, wait, words_per_ms * wait / MS);
	return wait;
}

/* A storm that begins behind a round fills half of a large ring at most, or ten milliseconds'. */
static void test_storm_from_nothing(void **state)
{
	(void)state;
	for (uint64_t words = LOBBY_RING_MIN / 8; words <= LARGE * 16; words *= 2) {
		uint64_t wait = settled(words, 0);

		assert_int_equal(wait, pace_longest_ns(words));
		assert_true(wait <= PACE_MAX_NS);
		if (wait > 10 * MS)
			assert_true(wait / 1000 * PACE_STORM_WORDS <= words / 2);
		else
			assert_int_equal(wait, 10 * MS);
	}
}

/* A program that does little is looked at thirty times a second, not fifty. */
static void test_idle(void **state)
{
	(void)state;
	assert_true(settled(LARGE, 0) >= 1000 * MS / 30);
	assert_int_equal(settled(LARGE, 0), settled(LARGE, FEW_WORDS));
}

/* A busy program is read so often that a round finds what the caches hold. */
static void test_steady(void **state)
{
	(void)state;
	for (uint64_t rate = 1000; rate <= PACE_STORM_WORDS * 1000 / 2; rate *= 2) {
		uint64_t found = rate * settled(LARGE, rate) / MS;

		assert_true(found >= PACE_WORDS / 4 && found <= PACE_WORDS * 2);
	}
}

/* When a ring runs full the next round follows at once, and later ones come sooner. */
static void test_full(void **state)
{
	(void)state;
	assert_int_equal(pace_next_ns(LARGE, 30 * MS, LARGE / 4), 0);
	assert_true(pace_next_ns(LARGE, 30 * MS, PACE_WORDS * 3) <= 10 * MS);
	assert_int_equal(pace_next_ns(LARGE, 0, 0), 2 * PACE_MIN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm_from_nothing),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
