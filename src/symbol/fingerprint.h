// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What tells a file from others without understanding a byte of it: its size, its ends (headers,
 * build-id, sections) and samples of all that lies between. It decides whether what is remembered
 * of a file may be used.
 */
#ifndef SYMBOL_FINGERPRINT_H
#define SYMBOL_FINGERPRINT_H

#include "base/util.h"

struct fingerprint {
	uint64_t size_bytes, hash; /* both 0: there is no such file */
};

/* False: the file cannot be read; it has that of one that is not there. */
bool fingerprint_file(const char *path, struct fingerprint *f);

#endif
