// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Root futures, those of block_on: no task, but a variable of a function that a thread is in. Where
 * in the function's frame it lies optimised code does not tell. So each place is tried, and the one
 * that makes the most sense is taken: a guess, and to be called so.
 */
#ifndef WALK_ROOTS_H
#define WALK_ROOTS_H

#include "walk/census.h"

/*
 * Adds those of threads that wait in the kernel to the census, as tasks of the kind TRACE_BLOCK_ON
 * whose id is the thread's. objects_open_layouts must have been called.
 */
void roots_find(struct census *c);

#endif
