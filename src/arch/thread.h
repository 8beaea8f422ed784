// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where the calling thread is: its control block, its stack, its variables. */
#ifndef ARCH_THREAD_H
#define ARCH_THREAD_H

#include <stdint.h>

/* The address of the thread's control block, which the C library puts above its stack. */
static inline __attribute__((always_inline)) uint64_t arch_thread_pointer(void)
{
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

static inline __attribute__((always_inline)) uint64_t arch_stack_pointer(void)
{
	uint64_t sp;

	__asm__("mov %%rsp, %0" : "=r"(sp));
	return sp;
}

/* In a loop that waits for another thread. */
static inline __attribute__((always_inline)) void arch_pause(void)
{
	__builtin_ia32_pause();
}

/*
 * Loads a variable of the thread, initial-exec, anew each time: a compiler takes it for granted
 * that it stays where it is, while a function may return on another thread.
 */
#define ARCH_LOAD_THREAD_WORD(to, name)                        \
	__asm__ volatile("mov " #name "@gottpoff(%%rip), %0\n" \
			 "mov %%fs:(%0), %0"                   \
			 : "=r"(to))

#endif
