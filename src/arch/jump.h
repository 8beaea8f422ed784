// SPDX-License-Identifier: MIT OR Apache-2.0
/* Machine code that is written into a program: jumps, and guards of functions that allocate. */
#ifndef ARCH_JUMP_H
#define ARCH_JUMP_H

#include <stdint.h>

#define ARCH_JUMP_BYTES 5 /* of a jump to an address that is near */
#define ARCH_FAR_JUMP_BYTES \
	6 /* of one to the address that lies ARCH_FAR_JUMP_OFF behind its start */
#define ARCH_FAR_JUMP_OFF 8
#define ARCH_JUMP_REACH	  (UINT64_C(1) << 31)

static inline void arch_put_jump(uint8_t *at, uint64_t from, uint64_t to)
{
	int32_t distance = to - from - ARCH_JUMP_BYTES;

	at[0] = 0xe9;
	__builtin_memcpy(at + 1, &distance, sizeof(distance));
}

static inline void arch_put_far_jump(uint8_t *at)
{
	static const uint8_t jump[ARCH_FAR_JUMP_BYTES] = { 0xff, 0x25, 0x02, 0x00, 0x00, 0x00 };

	__builtin_memcpy(at, jump, sizeof(jump));
}

/*
 * Code that goes on behind itself, unless the function's second argument is large: then by `to`
 * bytes from there. At the start of a function the flags and rax are unused.
 */
#define ARCH_GUARD_LOG_BYTES	10
#define ARCH_GUARD_LOG(max, to) /* the argument's lower six bits are above max */ \
	{                                                                         \
		0x89, 0xf0,		  /* mov %esi, %eax */                    \
			0x83, 0xe0, 0x3f, /* and $63, %eax */                     \
			0x83, 0xf8, max,  /* cmp $max, %eax */                    \
			0x77, to                                                  \
	} /* ja */
#define ARCH_GUARD_BYTES    6
#define ARCH_GUARD(max, to) /* the argument is above max, which is below 128 */ \
	{                                                                       \
		0x48, 0x83, 0xfe, max, /* cmp $max, %rsi */                     \
			0x77, to                                                \
	} /* ja */

#endif
