// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Slots and rings: where the events of a thread go. Part of the core, included by its files alone.
 *
 * Room: `limit` is how far head may grow. A run's start is written only if its end will fit as
 * well, and takes one word off the limit for it: a run is recorded whole or lost whole. When the
 * ring is full the event is counted, and told by a LOST event as soon as there is room again.
 */
#ifndef AGENT_RING_H
#define AGENT_RING_H

#include "agent/runs.h"
#include "arch/thread.h"
#include "arch/ticks.h"

static inline uint64_t thread_pointer(void)
{
	return arch_thread_pointer();
}

static inline uint64_t ticks_now(const struct core_page *p)
{
	uint64_t now = likely(p->clock == WIRE_CLOCK_TSC) ? arch_ticks() : p->read_clock();

	return now - p->base_ticks;
}

/* ---- slots ---- */

static inline uint64_t home_slot(uint64_t tp)
{
	return tp * UINT64_C(0x9e3779b97f4a7c15) >> 52;
}
_Static_assert(WIRE_MAX_THREADS == 1 << 12, "home_slot takes the upper 12 bits");

static bool is_mine(const struct core_page *p, const struct wire_thread *t, uint64_t tp)
{
	/* the thread pointer alone is reused by later threads: the id in the control block tells */
	return t->key == tp && t->tid == *(uint32_t *)(tp + p->tid_off);
}

static void start_thread(struct core_page *p, struct wire_thread *t, uint64_t tp);

static bool claim(struct wire_thread *t)
{
	uint64_t free = 0;

	return __atomic_load_n(&t->key, __ATOMIC_RELAXED) == 0 &&
	       __atomic_compare_exchange_n(&t->key, &free, WIRE_KEY_CLAIMED, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The slot is not at home: look behind it, or take the first free one. */
static NOINLINE struct wire_thread *find_slot(struct core_page *p, uint64_t tp)
{
	uint64_t home = home_slot(tp);

	for (unsigned i = 0; i < WIRE_PROBE; i++) {
		struct wire_thread *t = &p->region->threads[(home + i) % WIRE_MAX_THREADS];

		if (is_mine(p, t, tp))
			return t;
		/* an earlier thread with this pointer went without saying so */
		if (t->key == tp) {
			__atomic_store_n(&t->state, WIRE_THREAD_DEAD, __ATOMIC_RELEASE);
			__atomic_store_n(&t->key, WIRE_KEY_DEAD, __ATOMIC_RELEASE);
		}
	}
	for (unsigned i = 0; i < WIRE_PROBE; i++) {
		struct wire_thread *t = &p->region->threads[(home + i) % WIRE_MAX_THREADS];

		if (claim(t)) {
			start_thread(p, t, tp);
			return t;
		}
	}
	return 0;
}

/*
 * Is a slot found earlier still ours to write? Not after a fork inside a run (the page is wiped, or
 * has a region of the child's own): the slot is the parent's then. Nor after recording stopped.
 */
static inline bool is_current(const struct core_page *p, const struct wire_thread *t)
{
	return p->threads && t >= p->threads && t < p->threads + WIRE_MAX_THREADS;
}

/* The slot of this thread; NULL when there is none, and then an event of this kind is lost. */
static inline struct wire_thread *self(struct core_page *p, unsigned kind)
{
	struct wire_thread *threads = p->threads, *t;
	uint64_t tp = thread_pointer();

	if (unlikely(!threads))
		return 0;
	t = &threads[home_slot(tp)];
	if (likely(is_mine(p, t, tp)))
		return t;
	t = find_slot(p, tp);
	if (!t && kind) {
		__atomic_fetch_add(&p->region->lost[kind], 1, __ATOMIC_RELAXED);
		if (kind == EV_RUN_START || kind == EV_FUTURE_START)
			__atomic_fetch_add(&p->region->lost[kind + 1], 1, __ATOMIC_RELAXED);
	}
	if (!t && p->claimed)
		p->claimed(0);
	return t;
}

/* ---- rings ---- */

static inline uint64_t *ring_of(const struct core_page *p, const struct wire_thread *t)
{
	/* not p->threads: another thread may switch recording off at any moment */
	uint64_t off = wire_ring_off(p->lobby, t - p->region->threads, t->big);

	return (uint64_t *)((char *)p->region + off);
}

static void core_stop(struct core_page *p)
{
	p->is_stopped = true;
	__atomic_store_n(&p->fast_threads, (struct wire_thread *)0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->threads, (struct wire_thread *)0, __ATOMIC_RELAXED);
}

static bool is_told_to_stop(const struct core_page *p)
{
	return __atomic_load_n(&p->region->state, __ATOMIC_RELAXED) == WIRE_REGION_STOP;
}

/* The ring is full. If the tool is gone, nobody will drain it: switch off for good. */
static void look_for_tool(struct core_page *p)
{
	if (!core_is_tool_gone(p->lobby))
		return;
	p->region->note = WIRE_NOTE_GAVE_UP;
	core_stop(p);
}

static void count_lost(struct wire_thread *t, unsigned kind)
{
	__atomic_store_n(&t->lost[kind], t->lost[kind] + 1, __ATOMIC_RELAXED);
	t->nr_lost += t->pending_lost[kind]++ == 0;
}

/* What was lost is told before anything else, though there is room. */
static void tell_lost_next(struct wire_thread *t)
{
	if (t->limit) /* else somebody is writing an event, and puts back the limit that was */
		t->limit = t->head;
}

/*
 * Which runs are open is not known any more, or the reader does not know it: for both, none is. The
 * ends of those that are count as lost.
 */
static NOINLINE void forget_runs(struct wire_thread *t)
{
	for (const struct wire_run *run = innermost(t); run > no_run(t); run--)
		count_lost(t, run->id & CORE_FUTURE ? EV_FUTURE_END : EV_RUN_END);
	t->top = (uint64_t)no_run(t);
	t->nr_forgotten++;
	t->nr_lost += t->pending_lost[0]++ == 0; /* a hole in the ring, and no event */
	tell_lost_next(t);
}

/* What ended on other threads is open no more. */
static inline void settle_runs(struct wire_thread *t)
{
	if (!remove_left(&core_page, t))
		forget_runs(t);
}

static void tell_lost(struct core_page *p, struct wire_thread *t, unsigned nr)
{
	uint64_t *at = word_at(t, t->head), *start = at;

	/* only those that room was made for: a signal handler may add to them meanwhile */
	for (unsigned kind = 0; kind < EV_MAX && nr; kind++) {
		if (!t->pending_lost[kind])
			continue;
		nr--;
		*at++ = EVENT_WORD0(EV_LOST, 0, ticks_now(p));
		*at++ = kind;
		*at++ = t->pending_lost[kind];
		t->pending_lost[kind] = 0;
		t->nr_lost--;
	}
	__atomic_store_n(&t->head, t->head + (at - start), __ATOMIC_RELEASE);
}

/* A large ring, if there is one left: its number + 1. */
static uint32_t take_big_ring(const struct wire_lobby *l, struct wire_region *r)
{
	uint64_t used = __atomic_load_n(&r->big_used, __ATOMIC_RELAXED);

	for (;;) {
		unsigned nr = ~used ? __builtin_ctzll(~used) : WIRE_MAX_BIG;

		if (nr >= l->nr_big)
			return 0;
		if (__atomic_compare_exchange_n(&r->big_used, &used, used | UINT64_C(1) << nr,
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return nr + 1;
	}
}

/* What comes behind the present segment goes there. */
static void use_ring(const struct core_page *p, struct wire_thread *t, uint32_t big)
{
	uint64_t words = wire_ring_words(p->lobby, big);

	t->segment_words = wire_segment_words(words);
	t->free_segments = ~UINT64_C(0) >> (WIRE_MAX_SEGMENTS - words / t->segment_words);
	t->nr_read = 0;
	t->ring_from = t->segment_end;
	__atomic_store_n(&t->big, big, __ATOMIC_RELEASE);
}

/* Large rings are few and threads may be many: whoever needs one takes it, not whoever is first. */
static bool grow(const struct core_page *p, struct wire_thread *t)
{
	uint32_t big = t->big ? 0 : take_big_ring(p->lobby, p->region);

	if (big)
		use_ring(p, t, big);
	return big;
}

/* The lowest free segment; or, where memory is short, the lowest that takes some already. -1: none.
 */
static int take_segment(const struct core_page *p, struct wire_thread *t)
{
	uint64_t *touched = &t->touched[t->big != 0];
	uint64_t known = __atomic_load_n(touched, __ATOMIC_RELAXED) & t->free_segments;
	unsigned segment = __builtin_ctzll(t->free_segments);

	if (!(known >> segment & 1)) {
		uint64_t bytes = t->segment_words * 8;
		bool may = core_charge(&p->lobby->rings, bytes);

		if (!may &&
		    !t->segment_end) { /* without its first a thread has no limit to go by */
			__atomic_fetch_add(&p->lobby->rings.used, bytes, __ATOMIC_RELAXED);
			may = true;
		}
		if (may)
			__atomic_fetch_or(touched, UINT64_C(1) << segment, __ATOMIC_RELAXED);
		else if (known)
			segment = __builtin_ctzll(known);
		else
			return -1;
	}
	t->free_segments &= ~(UINT64_C(1) << segment);
	return segment;
}

/*
 * A ring is large to survive a hiccup of the tool, but a ring that is walked from end to end falls
 * out of the processor's caches, and every store then waits for memory. So it is cut into segments,
 * and the lowest free one is taken next: all are used when the tool is late, only the first few
 * while it keeps up.
 */
static bool next_segment(struct core_page *p, struct wire_thread *t)
{
	uint64_t tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE), size = t->segment_words;
	uint64_t head = t->segment_end, from = t->ring_from;
	int segment;
	const uint8_t *order = t->order[t->big != 0];

	for (; from + (t->nr_read + 1) * size <= tail && from + t->nr_read * size < head;
	     t->nr_read++)
		t->free_segments |= UINT64_C(1) << order[t->nr_read % WIRE_MAX_SEGMENTS];
	if (!t->free_segments && !grow(p, t))
		return false;
	size = t->segment_words;
	segment = take_segment(p, t);
	if (segment < 0)
		return false;
	if (t->head < head)
		*word_at(t, t->head) = 0;
	t->order[t->big != 0][(head - t->ring_from) / size % WIRE_MAX_SEGMENTS] = segment;
	t->bias = (uint64_t)(ring_of(p, t) + segment * size) - head * 8;
	t->segment_end = head + size;
	t->instance = ~UINT64_C(0); /* told again now and then, for whoever missed it */
	__atomic_store_n(&t->head, head, __ATOMIC_RELEASE);
	return true;
}

/* Deeply nested runs need long segments. */
static bool is_segment_for(const struct core_page *p, struct wire_thread *t, uint64_t words)
{
	return words <= t->segment_words || (grow(p, t) && words <= t->segment_words);
}

/*
 * Looks for a place for `words`, and tells what was lost before. Returns the limit to go by, which
 * is head when there is none: whatever comes next must look first, so that LOST stands where the
 * gap is. The caller has put its mark (limit = 0).
 */
static NOINLINE uint64_t make_room(struct core_page *p, struct wire_thread *t, unsigned words)
{
	uint64_t depth, need;
	unsigned nr_lost;

	settle_runs(t);
	depth = nr_recorded(t) * EVENT_WORDS_RUN_END;
	nr_lost = t->nr_lost;
	need = words + nr_lost * EVENT_WORDS_LOST + depth;

	if (t->head + need > t->segment_end) {
		if (is_told_to_stop(p))
			core_stop(p);
		if (!p->threads || !is_segment_for(p, t, need))
			return t->head;
		if (!next_segment(p, t)) {
			look_for_tool(p);
			return t->head;
		}
	}
	if (nr_lost)
		tell_lost(p, t, nr_lost);
	return t->segment_end - depth;
}

/*
 * Room for an event of `words` words, and `more` behind it: where to write, or NULL (and counted).
 * While an event is being written limit is 0, so that a signal handler that comes in between finds
 * no room; *limit is what publish() shall restore.
 */
static uint64_t *reserve(struct core_page *p, struct wire_thread *t, unsigned kind, unsigned words,
			 unsigned more, uint64_t *limit)
{
	*limit = t->limit;
	if (!*limit) { /* we are in such a handler */
		count_lost(t, kind);
		return 0;
	}
	t->limit = 0;
	barrier();
	if (unlikely(t->head + words + more > *limit)) {
		*limit = make_room(p, t, words + more);
		if (t->head + words + more > *limit) {
			/* what comes after the recording is no part of it */
			if (!is_told_to_stop(p))
				count_lost(t, kind);
			barrier();
			t->limit = *limit;
			return 0;
		}
	}
	return word_at(t, t->head);
}

static inline void put1(struct core_page *p, struct wire_thread *t, unsigned kind, unsigned flags)
{
	uint64_t limit, *at = reserve(p, t, kind, 1, 0, &limit);

	if (!at)
		return;
	at[0] = EVENT_WORD0(kind, flags, ticks_now(p));
	publish(t, t->head + 1, limit);
}

static void put2(struct core_page *p, struct wire_thread *t, unsigned kind, unsigned flags,
		 uint64_t a)
{
	uint64_t limit, *at = reserve(p, t, kind, 2, 0, &limit);

	if (!at)
		return;
	at[0] = EVENT_WORD0(kind, flags, ticks_now(p));
	at[1] = a;
	publish(t, t->head + 2, limit);
}

static inline void put3(struct core_page *p, struct wire_thread *t, unsigned kind, uint64_t a,
			uint64_t b)
{
	uint64_t limit, *at = reserve(p, t, kind, 3, 0, &limit);

	if (!at)
		return;
	at[0] = EVENT_WORD0(kind, 0, ticks_now(p));
	at[1] = a;
	at[2] = b;
	publish(t, t->head + 3, limit);
}

/* ---- runs ---- */

/*
 * Before a run or a future begins in that frame: is there an entry for it? With runs that do not
 * nest the table may be full of what will never end.
 */
static inline bool has_entry(struct wire_thread *t, uint64_t frame)
{
	if (likely(!is_beyond(innermost(t) + 1)))
		return true;
	settle_runs(t);
	if (!is_beyond(innermost(t) + 1))
		return true;
	if (are_nested(t, frame))
		return false;
	forget_runs(t);
	return true;
}

/* The innermost run that is no future's; NULL: there is none. */
static inline struct wire_run *current_run(struct wire_thread *t)
{
	struct wire_run *run;

	settle_runs(t);
	for (run = innermost(t); run->id & CORE_FUTURE; run--)
		;
	return run > no_run(t) ? run : 0;
}

/* An end that is not of what began last; false: there was no room, and it is counted. */
static NOINLINE bool put_end_of(struct core_page *p, struct wire_thread *t,
				const struct wire_run *what, unsigned kind, unsigned flags)
{
	bool is_future = what->id & CORE_FUTURE;
	uint64_t ticks, limit, *at = reserve(p, t, kind, EVENT_WORDS_END_OF, 1, &limit);

	if (!at)
		return false;
	ticks = ticks_now(p);
	at[0] = EVENT_WORD0(EV_END_OF, is_future ? EF_OF_FUTURE : 0, ticks);
	at[1] = what->task;
	at[2] = is_future ? what->header : 0;
	at[3] = EVENT_WORD0(kind, flags, ticks);
	publish(t, t->head + EVENT_WORDS_END_OF + 1, limit);
	return true;
}

/* Futures that were polled in that run, and whose ends did not come, are over when it is. */
static void drop_futures(struct wire_thread *t, struct wire_run *run)
{
	while (run < innermost(t) && run[1].id & CORE_FUTURE) {
		count_lost(t, EV_FUTURE_END);
		remove_run(t, run + 1);
	}
}

static NOINLINE void end_overlapped(struct core_page *p, struct wire_thread *t,
				    const struct wire_run *run, unsigned kind, unsigned flags)
{
	struct wire_run what = *run, *rest;
	bool is_told;

	/* of a future, the task is that of the run it was polled in */
	for (rest = innermost(t); what.id & CORE_FUTURE && !what.task && rest > no_run(t); rest--)
		if (rest < run)
			what.task = rest->task;
	is_told = put_end_of(p, t, &what, kind, flags);
	rest = find_run(t, what.id); /* meanwhile others may have been removed */
	if (rest)
		remove_run(t, rest);
	if (!is_told)
		forget_runs(t);
}

/* Ends what the table has there. */
static inline void end_entry(struct core_page *p, struct wire_thread *t, struct wire_run *run,
			     unsigned kind, unsigned flags)
{
	if (!(run->id & CORE_RECORDED)) {
		remove_run(t, run);
		count_lost(t, kind);
	} else if (likely(run == innermost(t))) {
		write_end(t, run, kind, flags, ticks_now(p));
	} else if (is_overlapped(t, run)) {
		end_overlapped(p, t, run, kind, flags);
	} else { /* for whoever reads it is what began last */
		for (; run < innermost(t); run++)
			*run = run[1];
		write_end(t, run, kind, flags, ticks_now(p)); /* takes off the last entry */
	}
}

/*
 * Roots that began in a run are over when it is, although some builds inline what would tell. They
 * lie further down the stack, and nothing else is open in it.
 */
static NOINLINE void end_roots(struct core_page *p, struct wire_thread *t, struct wire_run *run)
{
	struct wire_run *inner;

	for (inner = innermost(t); inner > run; inner--)
		if (!(inner->id & CORE_FUTURE) &&
		    !(inner->id & CORE_ROOT && inner->frame <= run->frame))
			return;
	while ((inner = innermost(t)) > run) {
		if (inner->id & CORE_ROOT)
			end_entry(p, t, inner, EV_RUN_END, EF_END_COMPLETE | EF_END_WANTED);
		else
			drop_futures(t, inner - 1);
	}
}

static inline void end_run(struct core_page *p, struct wire_thread *t, struct wire_run *run,
			   unsigned flags)
{
	if (unlikely(run->id & CORE_HAS_ROOT))
		end_roots(p, t, run);
	drop_futures(t, run);
	end_entry(p, t, run, EV_RUN_END, flags);
}

/*
 * A run that began on the thread of `began` ends on this one: told in this ring, by its name. The
 * other thread alone may touch its own table and ring.
 */
static NOINLINE void end_elsewhere(struct core_page *p, struct wire_thread *began,
				   const struct wire_run *what, unsigned kind, unsigned flags)
{
	struct wire_thread *t = self(p, kind);
	bool is_recorded = what->id & CORE_RECORDED;
	bool is_told = t && is_recorded && put_end_of(p, t, what, kind, flags);

	if (t && !is_recorded)
		count_lost(t, kind);
	if (what->id)
		/* of a hook, the bit means that its start is in no ring */
		post_left(p, began,
			  (what->id & ~(uint64_t)CORE_UNTOLD) |
				  (is_recorded && !is_told ? CORE_UNTOLD : 0));
}

/* ---- threads ---- */

/* Whoever looks for readers of a path looks at this slot, too. */
static void set_live(struct core_page *p, const struct wire_thread *t, bool is_live)
{
	uint64_t slot = t - p->region->threads, bit = UINT64_C(1) << slot % 64;

	if (is_live)
		__atomic_fetch_or(&p->live[slot / 64], bit, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&p->live[slot / 64], ~bit, __ATOMIC_SEQ_CST);
}

/* The tool looks for slots by these bits: one line of its caches for 512 slots, not for each. */
static void show_slot(struct wire_region *r, const struct wire_thread *t)
{
	uint64_t slot = t - r->threads;

	__atomic_fetch_or(&r->slots_used[slot / 64], UINT64_C(1) << slot % 64, __ATOMIC_RELEASE);
}

static void start_thread(struct core_page *p, struct wire_thread *t, uint64_t tp)
{
	t->tid = *(uint32_t *)(tp + p->tid_off);
	t->head = t->nr_lost = t->nr_panics = t->segment_end = 0;
	init_runs(p, t);
	use_ring(p, t, 0);
	__atomic_store_n(&t->tail, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < EV_MAX; i++)
		t->pending_lost[i] = t->lost[i] = 0;
	t->touched[0] = t->touched[1] = 0;
	t->reading = 0;
	set_live(p, t, true);
	t->life++;
	t->limit = 0;
	t->limit = make_room(p, t, EVENT_WORDS_THREAD_START);
	t->instance = 0;
	__atomic_store_n(&t->state, WIRE_THREAD_LIVE, __ATOMIC_RELEASE);
	show_slot(p->region, t);
	__atomic_store_n(&t->key, tp, __ATOMIC_RELEASE);
	put2(p, t, EV_THREAD_START, 0, t->tid);
	if (p->claimed)
		p->claimed(t);
}

#endif
