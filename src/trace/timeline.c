// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace/timeline.h"

/* futrace records with no clock slower than 1 MHz: such an anchor is damage. */
#define NS_PER_TICK_MAX 1000

/* Ticks before the first anchor lie on its line, which then must begin at their time. */
static void find_zero(struct timeline *t)
{
	size_t at = 0;

	while (at + 1 < t->lines.nr && t->lines.v[at + 1].tick <= 0)
		at++;
	t->zero = t->lines.v[at].ns +
		  (((__int128)0 - t->lines.v[at].tick) * t->lines.v[at].f >> TIMELINE_SHIFT);
}

void timeline_add(struct timeline *t, const struct clock_anchor *a, uint64_t base_ticks)
{
	int64_t tick = (int64_t)(a->ticks - base_ticks);
	__int128 ticks = (__int128)tick - t->end.tick, ns = (__int128)a->mono_ns - t->end.mono_ns;

	if (t->has_end && (ticks <= 0 || ns <= 0 || ns > ticks * NS_PER_TICK_MAX))
		return;
	if (t->has_end) {
		vec_push(&t->lines, (struct timeline_line){ .tick = t->end.tick,
							    .ns = t->end.mono_ns,
							    .f = (ns << TIMELINE_SHIFT) / ticks });
		if (t->lines.nr == 1 || t->end.tick <= 0)
			find_zero(t);
		t->span = 0; /* the line used last may end earlier now */
	}
	t->end.tick = tick;
	t->end.mono_ns = a->mono_ns;
	t->has_end = true;
}

uint64_t timeline_settled(const struct timeline *t)
{
	return t->lines.nr && t->end.tick > 0 ? t->end.tick : 0;
}

void timeline_release(struct timeline *t)
{
	vec_release(&t->lines);
}

/* Not below 0: the recording begins at 0 whatever the anchors say. */
static uint64_t line_ns(const struct timeline_line *l, __int128 zero, uint64_t tick)
{
	__int128 ns = l->ns - zero + ((((__int128)tick - l->tick) * l->f) >> TIMELINE_SHIFT);

	if (ns < 0)
		return 0;
	return ns <= INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

/* Its ticks up to the next line are computed without care, if that cannot go wrong. */
static void remember(struct timeline *t, size_t at)
{
	const struct timeline_line *l = &t->lines.v[at];
	uint64_t span = UINT64_C(1) << 50; /* times NS_PER_TICK_MAX: 2^60 ns */
	__int128 ns = l->ns - t->zero;

	if (at + 1 < t->lines.nr)
		span = MIN(span, (uint64_t)l[1].tick - (uint64_t)l->tick);
	t->tick = l->tick;
	t->ns = ns;
	t->f = l->f;
	t->span = l->tick >= 0 && ns >= 0 && ns <= INT64_MAX / 4 ? span : 0;
}

uint64_t timeline_find_ns(struct timeline *t, uint64_t tick)
{
	size_t low = 0, high = t->lines.nr;

	if (!high)
		return MIN(tick, (uint64_t)INT64_MAX);
	/* The last line that begins at or before tick; the first one for what is before all. */
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (t->lines.v[mid].tick <= (int64_t)MIN(tick, (uint64_t)INT64_MAX))
			low = mid;
		else
			high = mid;
	}
	remember(t, low);
	return line_ns(&t->lines.v[low], t->zero, tick);
}
