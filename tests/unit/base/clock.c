// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <string.h>

#include "base/clock.h"
#include "base/io.h"

/* The TSC is chosen if and only if the kernel itself uses it. */
static void test_choose(void **state)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	struct strbuf name = STRBUF_INIT;
	bool is_tsc = io_read_file(path, &name, 100, NULL) == 0 && strstr(name.s, "tsc") == name.s;

	assert_int_equal(clock_choose(), is_tsc ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC);
	strbuf_release(&name);
}

/* Ticks do not run backwards, whichever clock gives them; monotonic ticks are nanoseconds. */
static void test_ticks(void **state)
{
	enum clock_kind chosen = clock_choose();
	uint64_t last[3] = { 0 }, before = clock_mono_ns(), ticks;

	ticks = clock_ticks(CLOCK_KIND_MONOTONIC);
	assert_in_range(ticks, before, clock_mono_ns());
	for (int i = 0; i < 10007; i++) {
		enum clock_kind kind = i & 1 ? CLOCK_KIND_MONOTONIC : chosen;
		uint64_t now = clock_ticks(kind);

		assert_true(now >= last[kind]);
		last[kind] = now;
	}
}

/* An anchor lies between readings of the same clocks before and after it. */
static void test_anchor(void **state)
{
	enum clock_kind kinds[] = { clock_choose(), CLOCK_KIND_MONOTONIC };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint64_t ticks = clock_ticks(kinds[i]), mono = clock_mono_ns();
		struct clock_anchor a = { 0 };

		clock_anchor(kinds[i], &a);
		assert_in_range(a.ticks, ticks, clock_ticks(kinds[i]));
		assert_in_range(a.mono_ns, mono, clock_mono_ns());
		/* boot time also counts what the machine slept; the real clock is far from 1970 */
		assert_true(a.boot_ns + 1000000000 > a.mono_ns);
		assert_true(a.real_ns > UINT64_C(1500000000000000000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_anchor),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
