// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/pace.h"

/* Small rings fill up however often they are read; for them this is short enough. */
#define SMALL_NS (UINT64_C(10) * 1000 * 1000)

uint64_t pace_longest_ns(uint64_t ring_words)
{
	uint64_t ns = ring_words / 2 * 1000 / PACE_STORM_WORDS;

	return MAX(MIN(ns, PACE_MAX_NS), SMALL_NS);
}

uint64_t pace_next_ns(uint64_t ring_words, uint64_t wait_ns, uint64_t fullest)
{
	uint64_t wanted = MIN(PACE_WORDS, ring_words / 16);

	if (fullest >= ring_words / 4)
		return 0;
	wait_ns = MAX(wait_ns, PACE_MIN_NS);
	if (fullest > wanted / 2)
		wait_ns = wait_ns * wanted / fullest;
	else
		wait_ns *= 2;
	return MAX(MIN(wait_ns, pace_longest_ns(ring_words)), PACE_MIN_NS);
}
