// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which polls fit into a file of a wanted size: the long ones. A first pass adds up how many bytes
 * polls of each length take, in 64 buckets for each power of two.
 */
#ifndef EXPORT_THIN_H
#define EXPORT_THIN_H

#include "base/util.h"

#define THIN_SUB   UINT64_C(64)
#define THIN_SIZES (THIN_SUB * 59)

/* sizes: THIN_SIZES of them, zero at first. */
void thin_add(uint64_t *sizes, uint64_t ns, uint64_t bytes);
/* The smallest length that leaves no more than this many bytes. */
uint64_t thin_fit(const uint64_t *sizes, uint64_t bytes);

#endif
