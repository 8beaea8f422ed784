// SPDX-License-Identifier: MIT OR Apache-2.0
/* A system call that no library sees. Returns -errno where it fails. */
#ifndef ARCH_SYSCALL_H
#define ARCH_SYSCALL_H

static inline long arch_syscall(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
