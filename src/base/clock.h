// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which clock stamps events, and how its ticks relate to the system's clocks. The TSC is used only
 * where the kernel itself trusts it (clocksource tsc); else a tick is a nanosecond of
 * CLOCK_MONOTONIC.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/util.h"

enum clock_kind { CLOCK_KIND_TSC = 1, CLOCK_KIND_MONOTONIC = 2 };

/* The same moment on four clocks. */
struct clock_anchor {
	uint64_t ticks;
	uint64_t mono_ns, boot_ns, real_ns;
};

enum clock_kind clock_choose(void);
uint64_t clock_ticks(enum clock_kind kind);
void clock_anchor(enum clock_kind kind, struct clock_anchor *a); /* the tightest of a few tries */
uint64_t clock_mono_ns(void);
uint64_t clock_cpu_ns(void); /* of this process so far */

#endif
