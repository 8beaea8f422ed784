// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/thin.h"

/* What is below 64 is exact. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned shift = ns < THIN_SUB ? 0 : 57 - __builtin_clzll(ns);

	return ns < THIN_SUB ? ns : (shift + 1) * THIN_SUB + (ns >> shift & (THIN_SUB - 1));
}

static uint64_t bucket_low(unsigned bucket)
{
	unsigned row = bucket / THIN_SUB;
	uint64_t sub = bucket % THIN_SUB;

	return row ? (THIN_SUB + sub) << (row - 1) : sub;
}

void thin_add(uint64_t *sizes, uint64_t ns, uint64_t bytes)
{
	sizes[bucket_of(ns)] += bytes;
}

uint64_t thin_fit(const uint64_t *sizes, uint64_t bytes)
{
	unsigned bucket = THIN_SIZES;

	while (bucket && sizes[bucket - 1] <= bytes)
		bytes -= sizes[--bucket];
	return bucket == THIN_SIZES ? UINT64_MAX : bucket ? bucket_low(bucket) : 0;
}
