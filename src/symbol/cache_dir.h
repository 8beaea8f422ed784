// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The folder of the cache, opened only if no other user can have put anything into it. A cache that
 * another user fills decides what a recording says, and a link planted there decides which file is
 * overwritten: HOME=/tmp and a sudo that keeps HOME lead to such folders.
 *
 * The folder must belong to the effective user and be closed to everybody else (mode 0700). Each
 * folder and symbolic link on the way to it must belong to that user or to root; a folder that
 * others may write to must be sticky, as /tmp is.
 */
#ifndef SYMBOL_CACHE_DIR_H
#define SYMBOL_CACHE_DIR_H

#include <stdbool.h>

/*
 * A descriptor of the folder, or -1: it does not exist or cannot be trusted. Files in it are opened
 * relative to the descriptor, so the folder that was checked is the one that is used. path must be
 * absolute. create: makes missing folders, mode 0700.
 */
int cache_dir_open(const char *path, bool create);

#endif
