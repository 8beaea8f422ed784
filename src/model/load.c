// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An interval is a part of its first bin, a part of its last one, and all of those between. The
 * parts are added where they belong; those between are kept as differences, +1 where they begin and
 * -1 behind their end, and summed up when somebody asks.
 */
#include "model/load.h"

struct bin {
	uint64_t part_ns; /* of intervals that begin or end in it */
	int64_t change;	  /* of how many cover it whole, from the bin before */
};

struct load {
	uint64_t from_ns, to_ns, width_ns;
	uint64_t inverse; /* 2^64 / width_ns: dividing is too slow for every poll */
	uint32_t nr_bins;
	uint32_t at; /* `whole` is good for this bin */
	int64_t whole;
	struct bin bins[];
};

struct load *load_new(uint64_t from_ns, uint64_t to_ns, uint32_t nr_bins)
{
	uint64_t duration_ns = to_ns > from_ns ? to_ns - from_ns : 1;
	uint64_t width_ns = (duration_ns - 1) / MAX(nr_bins, 1u) + 1;
	uint32_t used = (duration_ns - 1) / width_ns + 1;
	/* an interval that ends with the last bin has its end in one more */
	struct load *l = xcalloc(1, sizeof(*l) + (used + 1) * sizeof(l->bins[0]));

	l->from_ns = from_ns;
	l->to_ns = from_ns + duration_ns;
	l->width_ns = width_ns;
	l->inverse = UINT64_MAX / width_ns;
	l->nr_bins = used;
	l->whole = l->bins[0].change;
	return l;
}

void load_free(struct load *l)
{
	free(l);
}

/* The bin of a moment, and how far into it that is. */
static uint32_t find_bin(const struct load *l, uint64_t since_ns, uint64_t *into_ns)
{
	uint64_t bin = ((unsigned __int128)since_ns * l->inverse) >> 64;
	uint64_t rest = since_ns - bin * l->width_ns;

	/* the inverse was rounded down: the bin is right, or one too small */
	if (rest >= l->width_ns) {
		rest -= l->width_ns;
		bin++;
	}
	*into_ns = rest;
	return bin;
}

void load_add(struct load *l, uint64_t a_ns, uint64_t b_ns)
{
	uint64_t a = MAX(a_ns, l->from_ns), b = MIN(b_ns, l->to_ns), into_a, into_b;
	uint32_t bin_a, bin_b;

	if (a >= b)
		return;
	bin_a = find_bin(l, a - l->from_ns, &into_a);
	bin_b = find_bin(l, b - l->from_ns, &into_b);
	if (bin_a == bin_b) {
		l->bins[bin_a].part_ns += into_b - into_a;
		return;
	}
	l->bins[bin_a].part_ns += l->width_ns - into_a;
	l->bins[bin_b].part_ns += into_b;
	l->bins[bin_a + 1].change++;
	l->bins[bin_b].change--;
	l->at = 0;
	l->whole = l->bins[0].change;
}

uint64_t load_get(struct load *l, uint32_t bin)
{
	if (bin >= l->nr_bins)
		return 0;
	if (bin < l->at) {
		l->at = 0;
		l->whole = l->bins[0].change;
	}
	while (l->at < bin)
		l->whole += l->bins[++l->at].change;
	return l->whole * l->width_ns + l->bins[bin].part_ns;
}

uint32_t load_get_nr_bins(const struct load *l)
{
	return l->nr_bins;
}

uint64_t load_get_bin_ns(const struct load *l)
{
	return l->width_ns;
}

uint64_t load_get_bin_start(const struct load *l, uint32_t bin)
{
	return l->from_ns + bin * l->width_ns;
}

uint64_t load_get_bin_span(const struct load *l, uint32_t bin)
{
	uint64_t start_ns = load_get_bin_start(l, bin);

	return start_ns < l->to_ns ? MIN(l->width_ns, l->to_ns - start_ns) : 0;
}
