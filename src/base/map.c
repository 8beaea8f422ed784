// SPDX-License-Identifier: MIT OR Apache-2.0
/* Linear probing with backward-shift deletion: no tombstones, so lookups stay short for ever. */
#include "base/map.h"

#include <string.h>

struct map_entry {
	uint64_t key, value;
	uint64_t used;
};

void map_release(struct map *m)
{
	free(m->entries);
	*m = (struct map)MAP_INIT;
}

void map_clear(struct map *m)
{
	if (m->entries)
		memset(m->entries, 0, m->cap * sizeof(*m->entries));
	m->nr = 0;
}

/* Position of key, or of the free entry where it would go. The table is never full. */
static size_t find(const struct map *m, uint64_t key)
{
	size_t i = map_hash(key) & (m->cap - 1);

	while (m->entries[i].used && m->entries[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void grow(struct map *m)
{
	struct map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->entries = xcalloc(m->cap, sizeof(*m->entries));
	for (size_t i = 0; i < old.cap; i++)
		if (old.entries[i].used)
			m->entries[find(m, old.entries[i].key)] = old.entries[i];
	free(old.entries);
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	size_t i;

	if (!m->cap)
		return NULL;
	i = find(m, key);
	return m->entries[i].used ? &m->entries[i].value : NULL;
}

uint64_t *map_put(struct map *m, uint64_t key, bool *was_there)
{
	size_t i;

	if ((m->nr + 1) * 2 > m->cap)
		grow(m);
	i = find(m, key);
	if (was_there)
		*was_there = m->entries[i].used;
	if (!m->entries[i].used) {
		m->entries[i] = (struct map_entry){ .key = key, .used = 1 };
		m->nr++;
	}
	return &m->entries[i].value;
}

bool map_del(struct map *m, uint64_t key, uint64_t *value)
{
	size_t mask = m->cap - 1, i, j, home;

	if (!m->cap)
		return false;
	i = find(m, key);
	if (!m->entries[i].used)
		return false;
	if (value)
		*value = m->entries[i].value;
	for (j = i;;) {
		j = (j + 1) & mask;
		if (!m->entries[j].used)
			break;
		home = map_hash(m->entries[j].key) & mask;
		/* an entry may fill the hole only if its home does not lie between hole and entry
		 */
		if (((j - home) & mask) >= ((j - i) & mask)) {
			m->entries[i] = m->entries[j];
			i = j;
		}
	}
	m->entries[i].used = 0;
	m->nr--;
	return true;
}

bool map_next(const struct map *m, size_t *pos, uint64_t *key, uint64_t *value)
{
	for (; *pos < m->cap; ++*pos) {
		if (!m->entries[*pos].used)
			continue;
		*key = m->entries[*pos].key;
		*value = m->entries[*pos].value;
		++*pos;
		return true;
	}
	return false;
}
