// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Events into rings. The path of a poll is: find the thread's slot by the thread pointer, stamp,
 * write three words, publish; afterwards stamp, write one word, publish. No lock, no system call,
 * no loop.
 *
 * Room: `limit` is how far head may grow. A run's start is written only if its end will fit as
 * well, and takes one word off the limit for it: a run is recorded whole or lost whole. When the
 * ring is full the event is counted, and told by a LOST event as soon as there is room again.
 */
#include "agent/core.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NOINLINE    __attribute__((noinline, cold))

/* Keeps the compiler, not the processor, from moving stores: for a signal handler on the same
 * thread. */
#define barrier() __asm__ volatile("" ::: "memory")

/* Header of a Tokio task, the same from 1.21 on. State bits are the same in every 1.x. */
#define TOKIO_STATE	     0
#define TOKIO_VTABLE	     16
#define TOKIO_RUNNING	     1
#define TOKIO_COMPLETE	     2
#define TOKIO_NOTIFIED	     4
#define TOKIO_JOIN_INTEREST  8
#define TOKIO_CANCELLED	     32
#define TOKIO_REF	     64

#define TOKIO_STAGE_FINISHED 1	  /* tag of the enum that holds future or output */
#define PANIC_SEARCH_BYTES   1024 /* of a task's output: where a JoinError lies in it */

struct core core;

static inline uint64_t thread_pointer(void)
{
	uint64_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

static inline uint64_t load(uint64_t addr)
{
	return __atomic_load_n((uint64_t *)addr, __ATOMIC_RELAXED);
}

static inline uint64_t ticks_now(const struct core_page *p)
{
	uint64_t now =
		likely(p->clock == WIRE_CLOCK_TSC) ? __builtin_ia32_rdtsc() : p->read_clock();

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

static inline uint64_t *ring_of(const struct core_page *p, const struct wire_thread *t)
{
	return p->rings + (uint64_t)(t - p->threads) * p->ring_words;
}

static void start_thread(struct core_page *p, struct wire_thread *t, uint64_t tp);

static bool claim(struct wire_thread *t, uint64_t tp)
{
	uint64_t free = 0;

	return __atomic_load_n(&t->key, __ATOMIC_RELAXED) == 0 &&
	       __atomic_compare_exchange_n(&t->key, &free, tp, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The slot is not at home: look behind it, or take the first free one. */
static NOINLINE struct wire_thread *find_slot(struct core_page *p, uint64_t tp)
{
	uint64_t home = home_slot(tp);

	for (unsigned i = 0; i < WIRE_PROBE; i++) {
		struct wire_thread *t = &p->threads[(home + i) % WIRE_MAX_THREADS];

		if (is_mine(p, t, tp))
			return t;
		/* an earlier thread with this pointer went without saying so */
		if (t->key == tp) {
			__atomic_store_n(&t->state, WIRE_THREAD_DEAD, __ATOMIC_RELEASE);
			__atomic_store_n(&t->key, WIRE_KEY_DEAD, __ATOMIC_RELEASE);
		}
	}
	for (unsigned i = 0; i < WIRE_PROBE; i++) {
		struct wire_thread *t = &p->threads[(home + i) % WIRE_MAX_THREADS];

		if (claim(t, tp)) {
			start_thread(p, t, tp);
			return t;
		}
	}
	__atomic_fetch_add(&p->region->nr_unslotted, 1, __ATOMIC_RELAXED);
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

static inline struct wire_thread *self(struct core_page *p)
{
	uint64_t tp = thread_pointer();
	struct wire_thread *t;

	if (unlikely(!p || !p->threads))
		return 0;
	t = &p->threads[home_slot(tp)];
	if (likely(is_mine(p, t, tp)))
		return t;
	return find_slot(p, tp);
}

/* ---- rings ---- */

/* Nobody drains any more: switch off for good. The program goes on as if we were not there. Asked
 * once a segment. */
static void look_for_tool(struct core_page *p)
{
	uint64_t heartbeat = __atomic_load_n(&p->lobby->heartbeat_ticks, __ATOMIC_RELAXED);
	/* signed: the heartbeat may be younger than our own look at the clock */
	int64_t age = ticks_now(p) + p->base_ticks - heartbeat;

	if (age > (int64_t)p->lobby->stale_ticks ||
	    __atomic_load_n(&p->region->state, __ATOMIC_RELAXED) == WIRE_REGION_STOP)
		__atomic_store_n(&p->threads, (struct wire_thread *)0, __ATOMIC_RELAXED);
}

static void count_lost(struct wire_thread *t, unsigned kind)
{
	__atomic_store_n(&t->lost[kind], t->lost[kind] + 1, __ATOMIC_RELAXED);
	t->nr_lost += t->pending_lost[kind]++ == 0;
	/* whatever comes next must look first, so that LOST stands where the gap is */
	t->limit = t->head;
}

static void tell_lost(struct core_page *p, struct wire_thread *t)
{
	uint64_t *ring = ring_of(p, t) + t->shift, head = t->head;

	for (unsigned kind = 0; kind < EV_MAX && t->nr_lost; kind++) {
		if (!t->pending_lost[kind])
			continue;
		ring[head++] = EVENT_WORD0(EV_LOST, 0, ticks_now(p));
		ring[head++] = kind;
		ring[head++] = t->pending_lost[kind];
		t->pending_lost[kind] = 0;
		t->nr_lost--;
	}
	__atomic_store_n(&t->head, head, __ATOMIC_RELEASE);
}

/*
 * A ring is large to survive a hiccup of the tool, but a ring that is walked from end to end falls
 * out of the processor's caches, and every store then waits for memory. So it is cut into segments,
 * and the lowest free one is taken next: all are used when the tool is late, only the first few
 * while it keeps up.
 */
static bool next_segment(struct core_page *p, struct wire_thread *t)
{
	uint64_t tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE), size = p->segment_words;
	uint64_t head = t->segment_end, segment;

	for (; (t->nr_read + 1) * size <= tail && t->nr_read * size < head; t->nr_read++)
		t->free_segments |= UINT64_C(1) << t->order[t->nr_read % WIRE_MAX_SEGMENTS];
	if (!t->free_segments)
		return false;
	segment = __builtin_ctzll(t->free_segments);
	t->free_segments &= t->free_segments - 1;
	if (t->head < head)
		ring_of(p, t)[t->head + t->shift] = 0;
	t->order[head / size % WIRE_MAX_SEGMENTS] = segment;
	t->shift = segment * size - head;
	t->segment_end = head + size;
	__atomic_store_n(&t->head, head, __ATOMIC_RELEASE);
	return true;
}

/* Looks for a place for `words`. True when they fit now. */
static NOINLINE bool make_room(struct core_page *p, struct wire_thread *t, unsigned words)
{
	uint64_t need = words + t->nr_lost * EVENT_WORDS_LOST + t->depth;

	if (t->head + need > t->segment_end) {
		look_for_tool(p);
		if (need > p->segment_words || !next_segment(p, t))
			return false;
	}
	t->limit = t->segment_end - t->depth;
	if (t->nr_lost)
		tell_lost(p, t);
	return true;
}

/*
 * Room for an event of `words` words, and `more` beyond it: where to write, or NULL (and counted).
 * To be ended by publish().
 */
static inline bool reserve(struct core_page *p, struct wire_thread *t, unsigned kind,
			   unsigned words, unsigned more)
{
	if (unlikely(t->busy)) { /* a signal handler came in while this thread wrote an event */
		count_lost(t, kind);
		return false;
	}
	t->busy = 1;
	barrier();
	if (unlikely(t->head + words + more > t->limit) && !make_room(p, t, words + more)) {
		count_lost(t, kind);
		barrier();
		t->busy = 0;
		return false;
	}
	return true;
}

static inline void publish(struct wire_thread *t, unsigned words)
{
	__atomic_store_n(&t->head, t->head + words, __ATOMIC_RELEASE);
	barrier();
	t->busy = 0;
}

static inline void put1(struct core_page *p, struct wire_thread *t, unsigned kind, unsigned flags)
{
	if (reserve(p, t, kind, 1, 0)) {
		ring_of(p, t)[t->head + t->shift] = EVENT_WORD0(kind, flags, ticks_now(p));
		publish(t, 1);
	}
}

static inline void put2(struct core_page *p, struct wire_thread *t, unsigned kind, unsigned flags,
			uint64_t a)
{
	uint64_t *at;

	if (reserve(p, t, kind, 2, 0)) {
		at = ring_of(p, t) + (t->head + t->shift);
		at[0] = EVENT_WORD0(kind, flags, ticks_now(p));
		at[1] = a;
		publish(t, 2);
	}
}

static void put3(struct core_page *p, struct wire_thread *t, unsigned kind, uint64_t a, uint64_t b)
{
	uint64_t *at;

	if (!reserve(p, t, kind, 3, 0))
		return;
	at = ring_of(p, t) + (t->head + t->shift);
	at[1] = a;
	at[2] = b;
	at[0] = EVENT_WORD0(kind, 0, ticks_now(p));
	publish(t, 3);
}

static void start_thread(struct core_page *p, struct wire_thread *t, uint64_t tp)
{
	uint64_t nr_segments = p->ring_words / p->segment_words;

	t->tid = *(uint32_t *)(tp + p->tid_off);
	t->head = t->limit = t->busy = t->run = t->nr_lost = t->depth = t->nr_panics = 0;
	t->segment_end = t->nr_read = t->shift = 0;
	t->free_segments = ~UINT64_C(0) >> (WIRE_MAX_SEGMENTS - nr_segments);
	__atomic_store_n(&t->tail, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < EV_MAX; i++)
		t->pending_lost[i] = t->lost[i] = 0;
	t->life++;
	__atomic_store_n(&t->state, WIRE_THREAD_LIVE, __ATOMIC_RELEASE);
	put2(p, t, EV_THREAD_START, 0, t->tid);
	if (p->claimed)
		p->claimed(t);
}

/* ---- tables ---- */

struct core_table *core_table_find(uint64_t addr, bool make)
{
	/* tables lie side by side, so neighbours share pages here as well */
	uint64_t i = addr >> 4;

	for (unsigned tries = 0; tries < CORE_MAX_ENTRIES; tries++, i++) {
		struct core_table *table = &core.tables[i % CORE_MAX_ENTRIES];
		uint64_t have = __atomic_load_n(&table->addr, __ATOMIC_ACQUIRE);

		if (likely(have == addr))
			return table;
		if (have == 0)
			return make ? table : 0;
	}
	return 0;
}

const struct core_table *core_table_of(uint64_t header)
{
	return core_table_find(load(header + TOKIO_VTABLE), false);
}

static inline uint64_t task_word(uint64_t header, const struct core_table *table)
{
	return EVENT_WORD1(load(header + table->id_off), table->type);
}

/* ---- runs ---- */

static unsigned start_flags(uint64_t state, enum core_run_kind kind)
{
	unsigned flags = kind == CORE_SHUTDOWN ? EF_RUN_SHUTDOWN : 0;

	if (state & TOKIO_COMPLETE)
		return flags | EF_RUN_FINISHED;
	if (kind == CORE_POLL && state & TOKIO_CANCELLED)
		flags |= EF_RUN_DROP;
	return flags;
}

/* Writes the start of a run; false when it is lost. */
static inline bool put_start(struct core_page *p, struct wire_thread *t, const struct core_run *run,
			     enum core_run_kind kind)
{
	uint64_t *at, now;

	if (!reserve(p, t, EV_RUN_START, EVENT_WORDS_RUN_START, EVENT_WORDS_RUN_END))
		return false;
	at = ring_of(p, t) + (t->head + t->shift);
	at[1] = task_word(run->header, run->table);
	at[2] = run->header;
	now = ticks_now(p);
	/* The state as late as can be: an abort or a shutdown from elsewhere may come between our
	 * look and Tokio's. */
	barrier();
	at[0] = EVENT_WORD0(EV_RUN_START, start_flags(load(run->header + TOKIO_STATE), kind), now);
	publish(t, EVENT_WORDS_RUN_START);
	t->depth++;
	t->limit -= EVENT_WORDS_RUN_END;
	return true;
}

void core_run_enter(struct core_run *run, uint64_t header, enum core_run_kind kind)
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);

	run->table = core_table_of(header);
	run->header = header;
	run->thread = t;
	if (unlikely(!t))
		return;
	/* Ours, so that the header can be looked at when the run is over. Costs under 2 ns. */
	__atomic_fetch_add((uint64_t *)header, TOKIO_REF, __ATOMIC_RELAXED);
	run->outer = (struct core_run *)t->run;
	run->nr_panics = t->nr_panics;
	run->is_escaped = false;
	t->run = (uint64_t)run;
	run->is_recorded = put_start(p, t, run, kind);
}

/* Tokio keeps a panic that it caught as the task's output, JoinError { payload, id }: three words
 * side by side. */
static bool is_join_error(const struct core_run *run, uint64_t at, const uint64_t payload[2])
{
	uint64_t id = load(run->header + run->table->id_off);

	/* the word before the first is the task's own id field, which proves nothing */
	return load(at) == payload[0] && load(at + 8) == payload[1] &&
	       ((at > run->header + run->table->stage_off && load(at - 8) == id) ||
		load(at + 16) == id);
}

static NOINLINE bool holds_payload(const struct core_run *run)
{
	const struct wire_thread *t = run->thread;
	uint64_t at = run->header + run->table->stage_off;
	uint64_t end = run->header + run->table->trailer_off;
	uint64_t nr = t->nr_panics - run->nr_panics;

	if (end > at + PANIC_SEARCH_BYTES)
		end = at + PANIC_SEARCH_BYTES;
	for (; at + 16 <= end; at += 8)
		for (uint64_t i = 0; i < nr && i < 3; i++)
			if (is_join_error(run, at, t->panics[(t->nr_panics - 1 - i) % 3]))
				return true;
	return false;
}

/*
 * Did a panic leave the future? When it was raised, the stack said whether the runtime would be the
 * one to catch it; but a catch of the program's that was inlined beside the runtime's looks the
 * same. Where the output is still in its place (nobody took it, and somebody wants it) it has the
 * last word.
 */
static NOINLINE bool has_panicked(const struct core_run *run, uint64_t state)
{
	uint32_t stage = load(run->header + run->table->stage_off);

	if (!run->is_escaped)
		return false;
	return !(state & TOKIO_JOIN_INTEREST && stage == TOKIO_STAGE_FINISHED) ||
	       holds_payload(run);
}

static unsigned end_flags(const struct core_run *run)
{
	uint64_t state = load(run->header + TOKIO_STATE);
	unsigned flags = 0;

	if (unlikely(state & TOKIO_COMPLETE)) {
		flags |= EF_END_COMPLETE;
		if (run->thread->nr_panics != run->nr_panics && has_panicked(run, state))
			flags |= EF_END_PANICKED;
	}
	if (state & TOKIO_CANCELLED)
		flags |= EF_END_CANCELLED;
	if (state & TOKIO_JOIN_INTEREST)
		flags |= EF_END_WANTED;
	if (state & TOKIO_NOTIFIED)
		flags |= EF_END_NOTIFIED;
	return flags;
}

static inline void end_run(struct core_page *p, struct wire_thread *t, const struct core_run *run)
{
	t->run = (uint64_t)run->outer;
	if (unlikely(!run->is_recorded)) {
		count_lost(t, EV_RUN_END);
		return;
	}
	t->depth--;
	t->limit += EVENT_WORDS_RUN_END;
	put1(p, t, EV_RUN_END, end_flags(run));
}

bool core_run_leave(struct core_run *run)
{
	struct core_page *p = core.page;
	struct wire_thread *t = run->thread;
	uint64_t state;

	if (unlikely(!t))
		return false;
	if (likely(is_current(p, t)))
		end_run(p, t, run);
	state = __atomic_fetch_sub((uint64_t *)run->header, TOKIO_REF, __ATOMIC_ACQ_REL);
	return state / TOKIO_REF == 1;
}

/* ---- the other events ---- */

void core_schedule(uint64_t header, const struct core_table *table)
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);

	if (likely(t))
		put2(p, t, EV_WAKE,
		     load(header + TOKIO_STATE) & TOKIO_CANCELLED ? EF_WAKE_ABORT : 0,
		     task_word(header, table));
}

void core_wake_running(uint64_t header)
{
	struct core_page *p = core.page;
	uint64_t state = load(header + TOKIO_STATE);
	const struct core_table *table;
	struct wire_thread *t;

	/* idle tasks come by the schedule slot; notified and finished ones are not woken again */
	if (likely((state & (TOKIO_RUNNING | TOKIO_COMPLETE | TOKIO_NOTIFIED)) != TOKIO_RUNNING))
		return;
	t = self(p);
	if (!t || (t->run && ((struct core_run *)t->run)->header == header))
		return;
	table = core_table_of(header);
	if (table)
		put2(p, t, EV_WAKE, EF_WAKE_RUNNING, task_word(header, table));
}

void core_spawn(uint64_t addr, uint64_t size)
{
	struct core_page *p = core.page;
	uint64_t unit = size / 128 % 1024;
	struct wire_thread *t;

	if (!p || !(p->cell_sizes[unit / 64] & UINT64_C(1) << unit % 64))
		return;
	t = self(p);
	if (t)
		put3(p, t, EV_SPAWN, addr, size);
}

struct wire_thread *core_sleep(unsigned flags)
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);

	if (t)
		put1(p, t, EV_SLEEP, flags);
	return t;
}

void core_awake(struct wire_thread *t)
{
	struct core_page *p = core.page;

	if (t && is_current(p, t))
		put1(p, t, EV_AWAKE, 0);
}

struct core_run *core_current_run(void)
{
	struct wire_thread *t = self(core.page);

	return t ? (struct core_run *)t->run : 0;
}

void core_panic(uint64_t data, uint64_t vtable, bool escapes)
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);
	uint64_t *payload;

	if (!t)
		return;
	payload = t->panics[t->nr_panics++ % 3];
	payload[0] = data;
	payload[1] = vtable;
	if (t->run && escapes)
		((struct core_run *)t->run)->is_escaped = true;
	put1(p, t, EV_PANIC, 0);
}

void core_thread_name(const char name[16])
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);
	uint64_t words[2] = { 0, 0 };

	if (!t)
		return;
	for (unsigned i = 0; i < 15 && name[i]; i++)
		words[i / 8] |= (uint64_t)(unsigned char)name[i] << i % 8 * 8;
	put3(p, t, EV_THREAD_NAME, words[0], words[1]);
}

void core_thread_stop(struct wire_thread *t)
{
	struct core_page *p = core.page;

	if (!is_current(p, t) || t->key != thread_pointer())
		return;
	put1(p, t, EV_THREAD_STOP, 0);
	__atomic_store_n(&t->state, WIRE_THREAD_DEAD, __ATOMIC_RELEASE);
	__atomic_store_n(&t->key, WIRE_KEY_DEAD, __ATOMIC_RELEASE);
}
