// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/snapshot.h"

#include <string.h>

#define MAX_BYTES (UINT64_C(64) << 20)

void snapshot_init(struct snapshot *s, struct memory *m)
{
	*s = (struct snapshot){ .memory = m, .max_bytes = MAX_BYTES };
}

void snapshot_release(struct snapshot *s)
{
	vec_release(&s->copies);
	vec_release(&s->bytes);
}

void snapshot_reset(struct snapshot *s)
{
	s->copies.nr = s->bytes.nr = 0;
}

uint8_t *snapshot_reserve(struct snapshot *s, uint64_t addr, uint64_t len)
{
	size_t at = s->bytes.nr;

	if (len > s->max_bytes - at)
		return NULL;
	vec_grow(&s->bytes, len);
	s->bytes.nr += len;
	vec_push(&s->copies, (struct snapshot_copy){ addr, len, at });
	return s->bytes.v + at;
}

bool snapshot_add(struct snapshot *s, uint64_t addr, uint64_t len)
{
	uint8_t *into;

	if (!len || snapshot_get(s, addr, len))
		return true;
	if (!memory_is_readable(s->memory, addr, len))
		return false;
	into = snapshot_reserve(s, addr, len);
	if (into && memory_read(s->memory, addr, into, len))
		return true;
	if (into) {
		s->copies.nr--;
		s->bytes.nr -= len;
	}
	return false;
}

void snapshot_cut(struct snapshot *s, size_t nr)
{
	if (nr >= s->copies.nr)
		return;
	s->bytes.nr = s->copies.v[nr].at;
	s->copies.nr = nr;
}

/* The latest first: that is where the walk is. */
const uint8_t *snapshot_get(const struct snapshot *s, uint64_t addr, uint64_t len)
{
	for (size_t i = s->copies.nr; i-- > 0;) {
		const struct snapshot_copy *c = &s->copies.v[i];

		if (addr >= c->addr && addr - c->addr <= c->len && len <= c->len - (addr - c->addr))
			return s->bytes.v + c->at + (addr - c->addr);
	}
	return NULL;
}

bool snapshot_number(const struct snapshot *s, uint64_t addr, uint64_t len, uint64_t *value)
{
	const uint8_t *p = len && len <= 8 ? snapshot_get(s, addr, len) : NULL;

	*value = 0;
	if (p)
		memcpy(value, p, len); /* little endian, as all that we know */
	return p;
}

/* The second time in the opposite order: what was read first stays the same the longest. */
void snapshot_compare(struct snapshot *const *snapshots, size_t nr, bool *are_same)
{
	VEC(struct memory_piece) pieces = { 0 };
	size_t sum = 0, at = 0, piece = 0;
	uint8_t *again;

	for (size_t i = 0; i < nr; i++)
		sum += snapshots[i]->bytes.nr;
	again = xmalloc(sum + 1);
	for (size_t i = 0; i < nr; i++)
		for (size_t k = snapshots[i]->copies.nr; k-- > 0;) {
			const struct snapshot_copy *c = &snapshots[i]->copies.v[k];

			vec_push(&pieces, (struct memory_piece){ c->addr, again + at, c->len });
			at += c->len;
		}
	if (nr)
		memory_read_pieces(snapshots[0]->memory, pieces.v, pieces.nr);
	for (size_t i = 0; i < nr; i++) {
		are_same[i] = true;
		for (size_t k = snapshots[i]->copies.nr; k-- > 0;) {
			const struct snapshot_copy *c = &snapshots[i]->copies.v[k];
			const struct memory_piece *p = &pieces.v[piece++];

			are_same[i] = are_same[i] && p->was_read &&
				      memcmp(p->into, snapshots[i]->bytes.v + c->at, c->len) == 0;
		}
	}
	vec_release(&pieces);
	free(again);
}
