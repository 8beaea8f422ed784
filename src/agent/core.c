// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Events into rings. The path of a poll is: find the thread's slot by the thread pointer, stamp,
 * write three words, publish; afterwards stamp, write one word, publish. No lock, no system call,
 * no loop.
 *
 * What every poll and wake passes through is written twice: as a leaf function for the usual case,
 * which keeps all in registers and gives up at the first thing out of the ordinary, and as the slow
 * function that it then becomes (a tail call), which does the same for any case.
 */
#include "agent/ring.h"

/* Header of a Tokio task, the same from 1.21 on. */
#define TOKIO_STATE	     0
#define TOKIO_VTABLE	     16

#define TOKIO_STAGE_FINISHED 1	  /* tag of the enum that holds future or output */
#define PANIC_SEARCH_BYTES   1024 /* of a task's output: where a JoinError lies in it */

struct core core;

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

/* The entry if it is where it is usually found, else NULL. */
static inline const struct core_table *fast_table(uint64_t header)
{
	uint64_t addr = load(header + TOKIO_VTABLE);
	const struct core_table *table = &core.tables[(addr >> 4) % CORE_MAX_ENTRIES];

	return likely(table->addr == addr) ? table : 0;
}

static inline uint64_t task_word(uint64_t header, const struct core_table *table)
{
	/* ids count tasks: none will ever need more than 48 bits */
	return load(header + table->id_off) | table->type_word;
}

/* ---- runs ---- */

static inline unsigned start_flags(uint64_t state, enum core_run_kind kind)
{
	unsigned flags = kind == CORE_SHUTDOWN ? EF_RUN_SHUTDOWN : 0;

	if (unlikely(state & TOKIO_COMPLETE))
		return flags | EF_RUN_FINISHED;
	if (kind == CORE_POLL && unlikely(state & TOKIO_CANCELLED))
		flags |= EF_RUN_DROP;
	return flags;
}

/* Writes the start of a run at head, for which and for whose end there is room. */
static inline void write_start(struct wire_thread *t, struct core_run *run, enum core_run_kind kind,
			       uint64_t now)
{
	uint64_t *at = word_at(t, t->head), limit = t->limit, header = run->header;
	uint64_t task = task_word(header, run->table);

	t->limit = 0;
	barrier();
	at[1] = task;
	at[2] = header;
	/* The state as late as can be: an abort or a shutdown from elsewhere may come between our
	 * look and Tokio's. */
	barrier();
	at[0] = EVENT_WORD0(EV_RUN_START, start_flags(load(header + TOKIO_STATE), kind), now);
	t->depth++;
	run->is_recorded = true;
	publish(t, EVENT_WORDS_RUN_START, limit - EVENT_WORDS_RUN_END);
}

static inline void join_run(struct wire_thread *t, struct core_run *run)
{
	/* Ours, so that the header can be looked at when the run is over. Costs under 2 ns. */
	__atomic_fetch_add((uint64_t *)run->header, TOKIO_REF, __ATOMIC_RELAXED);
	run->outer = (struct core_run *)t->run;
	run->nr_panics = t->nr_panics;
	run->is_escaped = false;
	t->run = (uint64_t)run;
}

static NOINLINE void enter_slowly(struct core_run *run, uint64_t header, enum core_run_kind kind)
{
	const unsigned words = EVENT_WORDS_RUN_START + EVENT_WORDS_RUN_END;
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);

	*run = (struct core_run){ .thread = t, .header = header, .table = core_table_of(header) };
	if (!t)
		return;
	join_run(t, run);
	if (t->head + words > t->limit && (!t->limit || !make_room(p, t, words)))
		count_lost(t, EV_RUN_START);
	else
		write_start(t, run, kind, ticks_now(p));
}

void core_run_enter(struct core_run *run, uint64_t header, enum core_run_kind kind)
{
	const unsigned words = EVENT_WORDS_RUN_START + EVENT_WORDS_RUN_END;
	struct core_page *p = core.page;
	struct wire_thread *t = fast_self(p);
	const struct core_table *table = fast_table(header);

	if (unlikely(!t || !table || t->head + words > t->limit)) {
		enter_slowly(run, header, kind);
		return;
	}
	run->thread = t;
	run->table = table;
	run->header = header;
	join_run(t, run);
	write_start(t, run, kind, fast_ticks(p));
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

/* What the state word says when a run is over; each bit goes to its flag without a branch. */
static inline unsigned end_flags(uint64_t state)
{
	return (state & TOKIO_COMPLETE ? EF_END_COMPLETE : 0) |
	       (state & TOKIO_CANCELLED ? EF_END_CANCELLED : 0) |
	       (state & TOKIO_JOIN_INTEREST ? EF_END_WANTED : 0) |
	       (state & TOKIO_NOTIFIED ? EF_END_NOTIFIED : 0);
}

/* Writes the end of a run whose start is in the ring: room for it was kept. */
static inline void write_end(struct wire_thread *t, unsigned flags, uint64_t now)
{
	uint64_t *at = word_at(t, t->head), limit = t->limit;

	t->limit = 0;
	barrier();
	at[0] = EVENT_WORD0(EV_RUN_END, flags, now);
	t->depth--;
	publish(t, EVENT_WORDS_RUN_END, limit + EVENT_WORDS_RUN_END);
}

static inline bool drop_reference(const struct core_run *run)
{
	uint64_t *state = (uint64_t *)run->header;

	return __atomic_fetch_sub(state, TOKIO_REF, __ATOMIC_ACQ_REL) / TOKIO_REF == 1;
}

static NOINLINE bool leave_slowly(struct core_run *run)
{
	struct core_page *p = core.page;
	struct wire_thread *t = run->thread;
	uint64_t state;
	unsigned flags;

	if (!t)
		return false;
	if (is_current(p, t)) {
		state = load(run->header + TOKIO_STATE);
		flags = end_flags(state);
		t->run = (uint64_t)run->outer;
		if (state & TOKIO_COMPLETE && t->nr_panics != run->nr_panics &&
		    has_panicked(run, state))
			flags |= EF_END_PANICKED;
		if (run->is_recorded)
			write_end(t, flags, ticks_now(p));
		else
			count_lost(t, EV_RUN_END);
	}
	return drop_reference(run);
}

bool core_run_leave(struct core_run *run)
{
	struct core_page *p = core.page;
	struct wire_thread *t = run->thread;

	if (unlikely(!t || !is_fast(p, t) || !run->is_recorded || t->nr_panics != run->nr_panics))
		return leave_slowly(run);
	t->run = (uint64_t)run->outer;
	write_end(t, end_flags(load(run->header + TOKIO_STATE)), fast_ticks(p));
	return drop_reference(run);
}

/* ---- the other events ---- */

static unsigned wake_flags(uint64_t state)
{
	return state & TOKIO_CANCELLED ? EF_WAKE_ABORT : 0;
}

static NOINLINE uint64_t schedule_slowly(uint64_t header)
{
	const struct core_table *table = core_table_of(header);
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);

	if (t)
		put2(p, t, EV_WAKE, wake_flags(load(header + TOKIO_STATE)),
		     task_word(header, table));
	return table->schedule;
}

uint64_t core_schedule(uint64_t header)
{
	struct core_page *p = core.page;
	struct wire_thread *t = fast_self(p);
	const struct core_table *table = fast_table(header);
	uint64_t *at, limit;

	if (unlikely(!t || !table || t->head + EVENT_WORDS_WAKE > t->limit))
		return schedule_slowly(header);
	at = word_at(t, t->head);
	limit = t->limit;
	t->limit = 0;
	barrier();
	at[1] = task_word(header, table);
	at[0] = EVENT_WORD0(EV_WAKE, wake_flags(load(header + TOKIO_STATE)), fast_ticks(p));
	publish(t, EVENT_WORDS_WAKE, limit);
	return table->schedule;
}

void core_wake_running(uint64_t header)
{
	struct core_page *p = core.page;
	struct wire_thread *t = self(p);
	const struct core_table *table = core_table_of(header);

	if (!t || !table || (t->run && ((struct core_run *)t->run)->header == header))
		return;
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
