// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Memory is cut into pieces and read in jobs of many pieces, by as many threads as there are
 * processors. Nearly every word is none that is looked for, and is told so by its range and a small
 * set of bits; only what passes both is looked up.
 */
#include "walk/scan.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (UINT64_C(64) << 10)
#define JOB_PIECES  16
#define FILTER_BITS (1u << 16)

struct range {
	uint64_t addr, len;
};

struct scan {
	struct memory *memory;
	const struct map *words;
	scan_fn *fn;
	void *arg;
	uint64_t first, span; /* of the words */
	uint64_t filter[FILTER_BITS / 64];
	VEC(struct range) pieces;
	size_t next_job; /* atomic */
};

struct worker {
	struct scan *s;
	unsigned number;
	pthread_t thread;
	uint8_t *buffer;
	uint64_t scanned_bytes;
};

static uint64_t load(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static unsigned filter_bit(uint64_t word)
{
	return word / 8 % FILTER_BITS;
}

bool scan_read(const struct scan_piece *piece, struct memory *m, uint64_t addr, void *into,
	       uint64_t len)
{
	if (piece && addr >= piece->addr && addr - piece->addr < piece->len &&
	    len <= piece->len - (addr - piece->addr)) {
		memcpy(into, piece->bytes + (addr - piece->addr), len);
		return true;
	}
	return memory_read(m, addr, into, len);
}

static void scan_piece(struct worker *w, const struct scan_piece *piece)
{
	const struct scan *s = w->s;
	uint64_t first = s->first, span = s->span;

	for (uint64_t off = 0; off + 8 <= piece->len; off += 8) {
		uint64_t word = load(piece->bytes + off), bit, *value;

		if (likely(word - first > span))
			continue;
		bit = filter_bit(word);
		if (!(s->filter[bit / 64] & UINT64_C(1) << bit % 64))
			continue;
		value = map_get(s->words, word);
		if (value)
			s->fn(s->arg, w->number, piece, piece->addr + off, *value);
	}
	w->scanned_bytes += piece->len;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct scan *s = w->s;
	struct memory_piece pieces[JOB_PIECES];

	for (;;) {
		size_t first = __atomic_fetch_add(&s->next_job, JOB_PIECES, __ATOMIC_RELAXED);
		size_t nr =
			first < s->pieces.nr ? MIN((size_t)JOB_PIECES, s->pieces.nr - first) : 0;

		if (!nr)
			return NULL;
		for (size_t i = 0; i < nr; i++)
			pieces[i] = (struct memory_piece){
				.addr = s->pieces.v[first + i].addr,
				.len = s->pieces.v[first + i].len,
				.into = w->buffer + i * PIECE_BYTES,
			};
		memory_read_pieces(s->memory, pieces, nr);
		for (size_t i = 0; i < nr; i++)
			if (pieces[i].was_read)
				scan_piece(w,
					   &(struct scan_piece){ s->memory, pieces[i].into,
								 pieces[i].addr, pieces[i].len });
	}
}

static void add_range(void *arg, uint64_t addr, uint64_t end_addr)
{
	struct scan *s = arg;

	for (addr = ROUND_UP(addr, 8); addr < end_addr; addr += PIECE_BYTES)
		vec_push(&s->pieces, (struct range){ addr, MIN(end_addr - addr, PIECE_BYTES) });
}

static void prepare(struct scan *s)
{
	uint64_t last = 0, word, value;
	size_t pos = 0;

	s->first = UINT64_MAX;
	while (map_next(s->words, &pos, &word, &value)) {
		uint64_t bit = filter_bit(word);

		s->filter[bit / 64] |= UINT64_C(1) << bit % 64;
		s->first = MIN(s->first, word);
		last = MAX(last, word);
	}
	s->span = last - s->first;
	vec_each (a, &s->memory->areas)
		if (a->may_read && a->may_write && a->is_private)
			memory_each_present(s->memory, a, add_range, s);
}

static uint64_t run(struct scan *s)
{
	size_t nr = MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), SCAN_MAX_THREADS);
	struct worker workers[SCAN_MAX_THREADS] = { 0 };
	bool has_thread[SCAN_MAX_THREADS] = { false };
	uint64_t scanned_bytes = 0;

	nr = MIN(nr, s->pieces.nr / JOB_PIECES + 1);
	for (size_t i = 0; i < nr; i++) {
		workers[i].s = s;
		workers[i].number = i;
		workers[i].buffer = xmalloc(JOB_PIECES * PIECE_BYTES);
		has_thread[i] = i && !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	work(&workers[0]);
	for (size_t i = 0; i < nr; i++) {
		if (has_thread[i])
			pthread_join(workers[i].thread, NULL);
		scanned_bytes += workers[i].scanned_bytes;
		free(workers[i].buffer);
	}
	return scanned_bytes;
}

uint64_t scan_memory(struct memory *m, const struct map *words, scan_fn *fn, void *arg)
{
	struct scan s = { .memory = m, .words = words, .fn = fn, .arg = arg };
	uint64_t scanned_bytes;

	if (!words->nr)
		return 0;
	prepare(&s);
	scanned_bytes = run(&s);
	vec_release(&s.pieces);
	return scanned_bytes;
}
