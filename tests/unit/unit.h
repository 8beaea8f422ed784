// SPDX-License-Identifier: MIT OR Apache-2.0
/* What every unit test includes: cmocka wants four headers before its own. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A generator of its own, so that a failure can be had again: same seed, same numbers. */
static inline uint64_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
