// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/drain.h"

#define TICK_MASK ((UINT64_C(1) << EVENT_TICK_BITS) - 1)
#define BATCH	  64 /* events that are decoded before they are encoded */

enum { SHAPE_ID = 1, SHAPE_ADDR = 2, SHAPE_A = 4, SHAPE_B = 8 };

struct shape {
	uint8_t nr_words; /* 0: no such kind */
	uint8_t has;
};

#define SHAPE_TASK_NONE 0
#define SHAPE_TASK_ID	SHAPE_ID
#define SHAPE_TASK_ADDR (SHAPE_ID | SHAPE_ADDR)

static const struct shape shapes[EV_MAX] = {
#define EVENT(nr, NAME, text, task, a, b) \
	[nr] = { EVENT_WORDS_##NAME,      \
		 SHAPE_##task | (EVENT_ARG_##a ? SHAPE_A : 0) | (EVENT_ARG_##b ? SHAPE_B : 0) },
#define FLAG(NAME, bit, text, ev)
#include "wire/event.def"
#undef EVENT
#undef FLAG
};

static inline uint64_t word(const uint64_t *at)
{
	/* Once only: a second look could find something else there. */
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Where the segment of that count lies in the ring. What the target says of it is made to fit. */
static uint64_t segment_at(const struct drain *d, uint64_t count)
{
	uint64_t n = (count - d->ring_from) / d->segment_words;
	const uint8_t *order = d->slot->order[d->ring.big != 0];
	uint8_t segment = __atomic_load_n(&order[n % WIRE_MAX_SEGMENTS], __ATOMIC_RELAXED);

	return segment % (d->ring.words / d->segment_words) * d->segment_words;
}

/* Stamps of a thread only grow, but for a hair where a signal handler nested: a step far back is a
 * wrap. */
static inline uint64_t unwrap(uint64_t last, uint64_t stamp)
{
	uint64_t ticks = (last & ~TICK_MASK) | stamp;

	if (unlikely(ticks < last && last - ticks > TICK_MASK / 2))
		ticks += TICK_MASK + 1;
	return ticks;
}

/* pos is the end of a piece, all of one segment. */
static void publish(struct drain *d, uint64_t pos)
{
	/* Before the producer knows that a segment is read nobody but us may touch it: the moment
	 * to give memory back. */
	if (unlikely(d->lobby->is_tight) && (pos - d->ring_from) % d->segment_words == 0) {
		uint64_t at = segment_at(d, pos - 1);

		lobby_punch_ring(d->lobby, &d->ring, at, at + d->segment_words);
		if (d->segment_words * sizeof(uint64_t) % WIRE_PAGE == 0)
			lobby_credit(d->lobby, d->slot, d->ring.big != 0,
				     UINT64_C(1) << at / d->segment_words);
	}
	d->tail = pos;
	__atomic_store_n(&d->slot->tail, pos, __ATOMIC_RELEASE);
}

static void skip_broken(struct drain *d, uint64_t head)
{
	struct event ev = { .time = d->last_ticks, .kind = EV_LOST, .a = 0, .b = 1 };

	trace_stream_put(d->stream, &ev);
	d->nr_events[EV_LOST]++;
	d->nr_broken++;
	d->pos = head;
	d->tail = head;
	__atomic_store_n(&d->slot->tail, head, __ATOMIC_RELEASE);
}

/* Kinds that have something of the region's, or of the program's, for which a file has numbers. */
static const uint32_t numbered = UINT32_C(1) << EV_INSTANCE | UINT32_C(1) << EV_MARK |
				 UINT32_C(1) << EV_SPAN_START | UINT32_C(1) << EV_SPAN_END |
				 UINT32_C(1) << EV_FIELD;

static void number(struct drain *d, struct event *ev)
{
	if (ev->kind == EV_INSTANCE)
		instances_number(d->instances, d->writer, ev, &d->root);
	else
		texts_number(d->texts, d->writer, ev);
}

/* Returns the word behind the event at `at`, which has the words of its shape. */
static ALWAYS_INLINE const uint64_t *decode(const uint64_t *at, struct shape shape,
					    struct event *ev)
{
	if (shape.has & SHAPE_ID) {
		uint64_t w1 = word(at++);

		ev->task = w1 & EVENT_ID_MASK;
		ev->type = w1 >> EVENT_ID_BITS;
	}
	if (shape.has & SHAPE_ADDR) {
		uint64_t w2 = word(at++);

		ev->addr = w2 & EVENT_ADDR_MASK;
		ev->path = w2 >> EVENT_ADDR_BITS;
	}
	if (unlikely(shape.has & SHAPE_A))
		ev->a = word(at++);
	if (unlikely(shape.has & SHAPE_B))
		ev->b = word(at++);
	return at;
}

/*
 * Decodes up to `end`, or as many events as there is room for. Returns the word behind them, or
 * that which is no event.
 */
static const uint64_t *decode_some(struct drain *d, const uint64_t *at, const uint64_t *end,
				   struct event batch[BATCH], size_t *nr)
{
	struct event *ev = batch;
	uint64_t last = d->last_ticks;

	while (at < end && ev < batch + BATCH) {
		uint64_t w0 = word(at);
		unsigned kind = w0 & (EV_MAX - 1);
		struct shape shape = shapes[kind];

		if (unlikely(!shape.nr_words || shape.nr_words > end - at))
			break;
		*ev = (struct event){ .kind = kind };
		ev->flags = w0 >> EVENT_KIND_BITS & ((1 << EVENT_FLAG_BITS) - 1);
		ev->time = last = unwrap(last, w0 >> EVENT_TICK_SHIFT);
		at = decode(at + 1, shape, ev);
		if (unlikely(numbered >> kind & 1))
			number(d, ev);
		d->nr_events[kind]++;
		ev++;
	}
	d->last_ticks = last;
	*nr = ev - batch;
	return at;
}

/*
 * Decodes up to head or the end of the segment, whichever comes first. Returns how many words held
 * events, or -1 at something that is none.
 */
static int64_t drain_piece(struct drain *d, uint64_t head)
{
	uint64_t start = d->pos - (d->pos - d->ring_from) % d->segment_words;
	uint64_t end = MIN(head, start + d->segment_words);
	const uint64_t *words = d->words + segment_at(d, d->pos), *to = words + (end - start);
	const uint64_t *from = words + (d->pos - start), *at = from;
	struct event batch[BATCH];
	size_t nr;

	do {
		at = decode_some(d, at, to, batch, &nr);
		trace_stream_put_all(d->stream, batch, nr);
	} while (nr);
	d->pos = start + (at - words);
	if (at == to)
		return at - from;
	/* the rest of a segment that is too short for an event is not used */
	if (word(at) != 0 || end != start + d->segment_words)
		return -1;
	d->pos = end;
	return at - from;
}

/* Has the producer, that far, a large ring which we do not read yet? */
static bool has_grown(const struct drain *d, uint64_t pos)
{
	return !d->ring.big && __atomic_load_n(&d->slot->big, __ATOMIC_ACQUIRE) &&
	       pos >= __atomic_load_n(&d->slot->ring_from, __ATOMIC_RELAXED);
}

/* Goes on in the large ring; the small one is read, and not written again by this thread. */
static int follow(struct drain *d)
{
	uint32_t big = __atomic_load_n(&d->slot->big, __ATOMIC_RELAXED);
	struct lobby_ring ring;
	const uint64_t *words;

	if (lobby_find_ring(d->lobby, d->ring.door, 0, big, &ring))
		return -1;
	words = lobby_map_ring(d->lobby, &ring);
	if (!words)
		return -1;
	lobby_punch_ring(d->lobby, &d->ring, 0, d->ring.words);
	lobby_credit(d->lobby, d->slot, false, ~UINT64_C(0));
	lobby_unmap_ring(&d->ring, d->words);
	d->words = words;
	d->ring = ring;
	d->segment_words = wire_segment_words(ring.words);
	d->ring_from = MIN(d->pos, __atomic_load_n(&d->slot->ring_from, __ATOMIC_RELAXED));
	return 0;
}

uint64_t drain_ring(struct drain *d, uint64_t max_bytes)
{
	uint64_t head = __atomic_load_n(&d->slot->head, __ATOMIC_ACQUIRE), nr_words = 0;
	uint64_t room = d->ring.words + (has_grown(d, head) ? d->lobby->sizes.ring_words : 0);

	if (head == d->pos)
		return 0;
	if (head < d->pos || head - d->pos > room) {
		skip_broken(d, head);
		return 0;
	}
	while (d->pos < head && !(max_bytes && trace_writer_bytes(d->writer) >= max_bytes)) {
		int64_t nr = has_grown(d, d->pos) && follow(d) ? -1 : drain_piece(d, head);

		if (nr < 0) {
			skip_broken(d, head);
			break;
		}
		nr_words += nr;
		publish(d, d->pos);
	}
	return nr_words;
}
