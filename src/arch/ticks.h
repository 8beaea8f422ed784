// SPDX-License-Identifier: MIT OR Apache-2.0
/* The processor's clock, read without a system call. */
#ifndef ARCH_TICKS_H
#define ARCH_TICKS_H

#include <stdint.h>

#if !defined(__x86_64__)
#error "only x86-64 is known"
#endif

/* The time stamp counter: it ticks alike on all cores where the kernel takes it for its own clock.
 */
static inline __attribute__((always_inline)) uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Ticks that are read behind this are not read before what is loaded ahead of it. */
static inline __attribute__((always_inline)) void arch_finish_loads(void)
{
	__asm__ volatile("lfence" ::: "memory");
}

#endif
