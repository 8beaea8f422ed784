// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A folder of small files that only save time: whatever is wrong with one (cut, flipped, another's
 * key, not readable), it counts as absent. Files are written under a temporary name, so no reader
 * sees half of one. A folder that other users could have written to is neither read nor filled
 * (symbol/cache_dir.h).
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "base/strbuf.h"
#include "symbol/image.h"

/* path: the folder. Appends what was stored under exactly this key; false when there is nothing
 * good. */
bool cache_get(const char *path, const char *key, struct strbuf *out);
/*
 * Stores it, and removes the oldest files when the folder has grown over max_bytes. Failure is
 * silent.
 */
void cache_put(const char *path, const char *key, const void *data, size_t len, uint64_t max_bytes);
/*
 * In a worker, which may not write files: from now on, what would be stored, and which files were
 * used, is appended to `to`; whoever gets that does it by cache_put_packed.
 */
void cache_divert(struct strbuf *to);
void cache_put_packed(const char *dir, const void *data, size_t len);
/*
 * Adds to a key what tells this file from others. strip keeps the build-id, so the sections that
 * names come from belong to it.
 */
void cache_add_image(struct strbuf *key, const struct image *img);

#endif
