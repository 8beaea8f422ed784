// SPDX-License-Identifier: MIT OR Apache-2.0
/* Numbers for people. Each writes into buf and returns it. */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include "base/util.h"

#define FORMAT_SIZE 32

const char *format_span(uint64_t ns,
			char buf[FORMAT_SIZE]); /* "60.8ms", at most seven characters */
const char *format_bytes(uint64_t bytes, char buf[FORMAT_SIZE]); /* "1.5MiB" */
const char *format_count(uint64_t n, char buf[FORMAT_SIZE]); /* "12.35M", at most six characters */
const char *format_grouped(uint64_t n, char buf[FORMAT_SIZE]); /* "1,234,567" */
const char *plural(uint64_t n);				       /* "s" unless it is one */

#endif
