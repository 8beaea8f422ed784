// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace/timeline.h"

/* A clock slower than 1 MHz is none that futrace records with: such an anchor is damage. */
#define NS_PER_TICK_MAX 1000

static bool add_line(struct timeline *t, const struct clock_anchor *from,
		     const struct clock_anchor *to, uint64_t base_ticks)
{
	int64_t tick = (int64_t)(from->ticks - base_ticks), end = (int64_t)(to->ticks - base_ticks);
	__int128 ticks = (__int128)end - tick, ns = (__int128)to->mono_ns - from->mono_ns;

	if (ticks <= 0 || ns <= 0 || ns > ticks * NS_PER_TICK_MAX)
		return false;
	vec_push(&t->lines, (struct timeline_line){ .tick = tick,
						    .ns = from->mono_ns,
						    .f = (ns << TIMELINE_SHIFT) / ticks });
	return true;
}

void timeline_init(struct timeline *t, const struct clock_anchor *anchors, size_t nr,
		   uint64_t base_ticks)
{
	const struct clock_anchor *from = anchors;
	__int128 zero;

	*t = (struct timeline){ 0 };
	for (size_t i = 1; i < nr; i++)
		if (add_line(t, from, &anchors[i], base_ticks))
			from = &anchors[i];
	if (!t->lines.nr)
		vec_push(&t->lines, (struct timeline_line){ .f = UINT64_C(1) << TIMELINE_SHIFT });
	/* Ticks before the first anchor lie on its line, which then must begin at their time. */
	while (t->at + 1 < t->lines.nr && t->lines.v[t->at + 1].tick <= 0)
		t->at++;
	zero = t->lines.v[t->at].ns +
	       (((__int128)0 - t->lines.v[t->at].tick) * t->lines.v[t->at].f >> TIMELINE_SHIFT);
	vec_each (l, &t->lines)
		l->ns -= zero;
	t->at = 0;
}

void timeline_release(struct timeline *t)
{
	vec_release(&t->lines);
}

uint64_t timeline_find_ns(struct timeline *t, uint64_t tick)
{
	size_t low = 0, high = t->lines.nr;

	/* The last line that begins at or before tick; the first one for what is before all. */
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (t->lines.v[mid].tick <= (int64_t)MIN(tick, (uint64_t)INT64_MAX))
			low = mid;
		else
			high = mid;
	}
	t->at = low;
	return timeline_line_ns(&t->lines.v[low], tick);
}
