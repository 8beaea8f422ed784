// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Hash map from a 64-bit key to a 64-bit value, open addressing, for hot paths. Every key is
 * allowed. A pointer returned by map_get or map_put is good until the next map_put or map_del.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/util.h"

struct map_entry;

struct map {
	struct map_entry *entries;
	size_t nr, cap; /* cap: 0 or a power of two */
};

#define MAP_INIT  \
	{         \
		0 \
	}

void map_release(struct map *m);
void map_clear(struct map *m);
uint64_t *map_get(const struct map *m, uint64_t key); /* NULL when absent */
uint64_t *map_put(struct map *m, uint64_t key,
		  bool *was_there); /* a new value is 0; was_there may be NULL */
bool map_del(struct map *m, uint64_t key, uint64_t *value); /* value may be NULL */
/* Walks all entries in no order: start with *pos = 0, ends with false. Do not change the map
 * meanwhile. */
bool map_next(const struct map *m, size_t *pos, uint64_t *key, uint64_t *value);

static inline uint64_t map_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

#endif
