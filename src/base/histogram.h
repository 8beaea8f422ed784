// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How values are distributed, in bounded memory: 32 buckets for each power of two, so a quantile is
 * at most 1/32 above the truth. Values below 32 are exact. Zeroed memory is an empty histogram;
 * rows of buckets come as they are needed.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include "base/util.h"

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_SUB	   (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_ROWS	   (64 - HISTOGRAM_SUB_BITS + 1)

struct histogram {
	uint64_t nr, sum, max;
	uint64_t *rows[HISTOGRAM_ROWS]; /* row 0: below 32; row i: from 32 << (i - 1) on */
};

void histogram_release(struct histogram *h);
uint64_t *histogram_new_row(void);
void histogram_merge(struct histogram *to, const struct histogram *from);

/*
 * The upper edge of the bucket that holds the smallest value v for which at least percent of a
 * hundred values are <= v (rank ceil(percent * nr / 100), at least 1), but never more than the
 * greatest value. 0 when empty.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned percent);

/* Walks the buckets that hold something, lowest first: start with *pos = 0, ends with false. */
struct histogram_bin {
	uint64_t low, high, nr;
};
bool histogram_next(const struct histogram *h, unsigned *pos, struct histogram_bin *bin);

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	unsigned row = 0, sub = value;

	if (value >= HISTOGRAM_SUB) {
		unsigned shift = 63 - HISTOGRAM_SUB_BITS - __builtin_clzll(value);

		row = shift + 1;
		sub = (value >> shift) & (HISTOGRAM_SUB - 1);
	}
	if (unlikely(!h->rows[row]))
		h->rows[row] = histogram_new_row();
	h->rows[row][sub]++;
	h->nr++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
}

#endif
