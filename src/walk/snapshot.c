// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/snapshot.h"

#include <string.h>

#define MAX_BYTES  (UINT64_C(64) << 20)
#define NR_NEAR	   32 /* copies that are tried one by one: mostly there are no more */
#define PAGE_SHIFT 12

void snapshot_init(struct snapshot *s, struct memory *m)
{
	*s = (struct snapshot){ .memory = m, .max_bytes = MAX_BYTES };
}

void snapshot_release(struct snapshot *s)
{
	vec_release(&s->copies);
	vec_release(&s->bytes);
	vec_release(&s->links);
	map_release(&s->pages);
}

/* ---- many copies: collections have as many as they have elements ---- */

static void index_copy(struct snapshot *s, size_t copy)
{
	const struct snapshot_copy *c = &s->copies.v[copy];

	for (uint64_t p = c->addr >> PAGE_SHIFT; p <= (c->addr + c->len) >> PAGE_SHIFT; p++) {
		uint64_t *latest = map_put(&s->pages, p, NULL);

		vec_push(&s->links, (struct snapshot_link){ p, copy, *latest });
		*latest = s->links.nr;
	}
}

static void index_earlier(struct snapshot *s)
{
	if (likely(s->copies.nr - s->nr_indexed < 2 * NR_NEAR))
		return;
	while (s->nr_indexed < s->copies.nr - NR_NEAR)
		index_copy(s, s->nr_indexed++);
}

static void cut_index(struct snapshot *s, size_t nr)
{
	while (s->links.nr && s->links.v[s->links.nr - 1].copy >= nr) {
		const struct snapshot_link *l = &s->links.v[--s->links.nr];

		*map_get(&s->pages, l->page) = l->next;
	}
	s->nr_indexed = MIN(s->nr_indexed, nr);
}

/* ---- copies ---- */

void snapshot_reset(struct snapshot *s)
{
	if (s->nr_indexed)
		map_clear(&s->pages);
	s->copies.nr = s->bytes.nr = s->links.nr = s->nr_indexed = 0;
}

uint8_t *snapshot_reserve(struct snapshot *s, uint64_t addr, uint64_t len)
{
	size_t at = s->bytes.nr;

	if (len > s->max_bytes - at)
		return NULL;
	vec_grow(&s->bytes, len);
	s->bytes.nr += len;
	vec_push(&s->copies, (struct snapshot_copy){ addr, len, at });
	index_earlier(s);
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
	if (into)
		snapshot_cut(s, s->copies.nr - 1);
	return false;
}

void snapshot_cut(struct snapshot *s, size_t nr)
{
	if (nr >= s->copies.nr)
		return;
	s->bytes.nr = s->copies.v[nr].at;
	s->copies.nr = nr;
	cut_index(s, nr);
}

static bool has(const struct snapshot_copy *c, uint64_t addr, uint64_t len)
{
	return addr >= c->addr && addr - c->addr <= c->len && len <= c->len - (addr - c->addr);
}

/* The latest first: that is where the walk is. */
static const struct snapshot_copy *find(const struct snapshot *s, uint64_t addr, uint64_t len)
{
	const uint64_t *link;

	for (size_t i = s->copies.nr; i-- > s->nr_indexed;)
		if (has(&s->copies.v[i], addr, len))
			return &s->copies.v[i];
	link = s->nr_indexed ? map_get(&s->pages, addr >> PAGE_SHIFT) : NULL;
	for (size_t l = link ? *link : 0; l; l = s->links.v[l - 1].next)
		if (has(&s->copies.v[s->links.v[l - 1].copy], addr, len))
			return &s->copies.v[s->links.v[l - 1].copy];
	return NULL;
}

const uint8_t *snapshot_get(const struct snapshot *s, uint64_t addr, uint64_t len)
{
	const struct snapshot_copy *c = find(s, addr, len);

	return c ? s->bytes.v + c->at + (addr - c->addr) : NULL;
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
