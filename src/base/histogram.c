// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/histogram.h"

void histogram_release(struct histogram *h)
{
	for (unsigned row = 0; row < HISTOGRAM_ROWS; row++)
		free(h->rows[row]);
	*h = (struct histogram){ 0 };
}

uint64_t *histogram_new_row(void)
{
	return xcalloc(HISTOGRAM_SUB, sizeof(uint64_t));
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned row = 0; row < HISTOGRAM_ROWS; row++) {
		if (!from->rows[row])
			continue;
		if (!to->rows[row])
			to->rows[row] = histogram_new_row();
		for (unsigned sub = 0; sub < HISTOGRAM_SUB; sub++)
			to->rows[row][sub] += from->rows[row][sub];
	}
	to->nr += from->nr;
	to->sum += from->sum;
	to->max = MAX(to->max, from->max);
}

static uint64_t low_edge(unsigned row, unsigned sub)
{
	return row ? (uint64_t)(HISTOGRAM_SUB + sub) << (row - 1) : sub;
}

static uint64_t high_edge(unsigned row, unsigned sub)
{
	return row ? low_edge(row, sub) + ((UINT64_C(1) << (row - 1)) - 1) : sub;
}

bool histogram_next(const struct histogram *h, unsigned *pos, struct histogram_bin *bin)
{
	for (; *pos < HISTOGRAM_ROWS * HISTOGRAM_SUB; ++*pos) {
		unsigned row = *pos / HISTOGRAM_SUB, sub = *pos % HISTOGRAM_SUB;

		if (!h->rows[row] || !h->rows[row][sub])
			continue;
		*bin = (struct histogram_bin){ low_edge(row, sub), high_edge(row, sub),
					       h->rows[row][sub] };
		++*pos;
		return true;
	}
	return false;
}

uint64_t histogram_percentile(const struct histogram *h, unsigned percent)
{
	/* no product that could overflow: nr = 100 * whole + part */
	uint64_t whole = h->nr / 100, part = h->nr % 100;
	uint64_t rank = whole * percent + (part * percent + 99) / 100, seen = 0;
	struct histogram_bin bin;
	unsigned pos = 0;

	rank = MAX(rank, 1);
	while (histogram_next(h, &pos, &bin)) {
		seen += bin.nr;
		if (seen >= rank)
			return MIN(bin.high, h->max);
	}
	return h->max;
}
