// SPDX-License-Identifier: MIT OR Apache-2.0
/* Says what differs and goes on; the test fails at its end. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int nr_failed;

#define check_num(got, want)                                                                      \
	do {                                                                                      \
		uint64_t got_ = (got), want_ = (want);                                            \
		if (got_ != want_) {                                                              \
			printf("%s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", __FILE__, __LINE__, \
			       #got, got_, want_);                                                \
			nr_failed++;                                                              \
		}                                                                                 \
	} while (0)

#define check_str(got, want)                                                              \
	do {                                                                              \
		const char *got_ = (got), *want_ = (want);                                \
		if (!got_ || strcmp(got_, want_) != 0) {                                  \
			printf("%s:%d: %s is '%s', not '%s'\n", __FILE__, __LINE__, #got, \
			       got_ ? got_ : "(null)", want_);                            \
			nr_failed++;                                                      \
		}                                                                         \
	} while (0)

static inline int check_result(void)
{
	if (nr_failed)
		printf("%d failed\n", nr_failed);
	return nr_failed != 0;
}

#endif
