// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/clock.h"

#include <string.h>
#include <time.h>

#include "arch/ticks.h"
#include "base/io.h"

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

enum clock_kind clock_choose(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	struct strbuf name = STRBUF_INIT;
	enum clock_kind kind = CLOCK_KIND_MONOTONIC;

	if (io_read_file(path, &name, 256, NULL) == 0 && strcmp(name.s, "tsc\n") == 0)
		kind = CLOCK_KIND_TSC;
	strbuf_release(&name);
	return kind;
}

uint64_t clock_ticks(enum clock_kind kind)
{
	return kind == CLOCK_KIND_TSC ? arch_ticks() : clock_mono_ns();
}

void clock_anchor(enum clock_kind kind, struct clock_anchor *a)
{
	uint64_t best = UINT64_MAX;

	/* A preemption between two readings shows as a wide span: keep the narrowest of five. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = clock_ticks(kind), mono = clock_mono_ns();
		uint64_t boot = read_ns(CLOCK_BOOTTIME), real = read_ns(CLOCK_REALTIME);
		uint64_t again = clock_mono_ns(), after = clock_ticks(kind);

		if (after - before >= best)
			continue;
		best = after - before;
		*a = (struct clock_anchor){ .ticks = before + (after - before) / 2,
					    .mono_ns = mono + (again - mono) / 2,
					    .boot_ns = boot,
					    .real_ns = real };
	}
}
