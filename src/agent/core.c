// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The core beyond the usual case (fast.h): threads that have no slot yet, tables that are not where
 * they are looked for first, full rings, other clocks, panics; and the events that are rare.
 */
#include "agent/ring.h"

#define TOKIO_STAGE_FINISHED 1	  /* tag of the enum that holds future or output */
#define PANIC_SEARCH_BYTES   1024 /* of a task's output: where a JoinError lies in it */

struct core_page core_page;
struct core_waker core_wakers[CORE_MAX_WAKERS];
struct core_waker core_type_wakers[CORE_MAX_TYPE_WAKERS];
struct core_table core_tables[CORE_MAX_ENTRIES];
uint64_t core_detaches[CORE_MAX_ENTRIES];

/* ---- tables ---- */

struct core_table *core_table_find(uint64_t addr, bool make)
{
	/* tables lie side by side, so neighbours share pages here as well */
	uint64_t i = addr >> 4;

	for (unsigned tries = 0; tries < CORE_MAX_ENTRIES; tries++, i++) {
		struct core_table *table = &core_tables[i % CORE_MAX_ENTRIES];
		uint64_t have = __atomic_load_n(&table->addr, __ATOMIC_ACQUIRE);

		if (likely(have == addr))
			return table;
		if (have == 0)
			return make ? table : 0;
	}
	return 0;
}

void core_bar_zero(void)
{
	if (!core_tables[0].addr)
		__atomic_store_n(&core_tables[0].addr, UINT64_MAX, __ATOMIC_RELEASE);
}

/*
 * Where a header has the pointer to its table depends on the release. Elsewhere in it are addresses
 * of other tasks and a small number: none is the address of a table.
 */
const struct core_table *core_table_of(uint64_t header)
{
	static const uint8_t old_offs[] = { 16, 32, 40 }; /* 1.21, 1.9, 1.0 */
	uint64_t usual = load(header + TOKIO_VTABLE);	  /* before 1.21 another task, or none */
	const struct core_table *table = usual ? core_table_find(usual, false) : 0;

	for (unsigned i = 0; !table && i < sizeof(old_offs); i++)
		table = core_table_find(load(header + old_offs[i]) | CORE_OLD, false);
	return table;
}

/*
 * A hook was called through a table that has no entry: the plan took it to begin some words before
 * or after its true start, as its functions and offsets can come in either order. Entries lie at
 * least ten words apart, so the one nearby is its own.
 */
struct core_hooked core_hooked_of(uint64_t header)
{
	enum { MAX_SHIFT = 4 * 8 };
	struct core_hooked h = { core_table_of(header), false };
	uint64_t addr = load(header + TOKIO_VTABLE);

	for (uint64_t off = 8; !h.table && off <= MAX_SHIFT; off += 8) {
		h.table = core_table_find(addr + off, false);
		if (!h.table)
			h.table = core_table_find(addr - off, false);
		h.is_misplaced = true;
	}
	return h;
}

/* The id and type of a task, or, where it has no id, its address. */
static uint64_t name_of(uint64_t header, const struct core_table *table)
{
	return table->id_off ? task_word(header, table) : header | table->type_word;
}

/* ---- runs ---- */

/* Under the mark, with room: whose tasks this thread runs from here on. */
static void tell_instance(struct wire_thread *t, uint64_t header, const struct core_table *table,
			  uint64_t now)
{
	uint64_t *at = word_at(t, t->head), key, scheduler;
	unsigned flags = 0;

	if (!table->id_off) /* before Tokio 1.23: who owns the task lies elsewhere */
		return;
	key = instance_key(header, table);
	if (t->instance == key)
		return;
	t->instance = key;
	if (!load(header + TOKIO_OWNER)) /* a closure of the blocking pool: nobody's */
		return;
	scheduler = load(header + table->scheduler_off);
	if (table->local_off && load(scheduler + table->local_off))
		flags = EF_INSTANCE_LOCAL;
	at[0] = EVENT_WORD0(EV_INSTANCE, flags, now);
	at[1] = task_word(header, table);
	at[2] = scheduler;
	at[3] = load(header + TOKIO_OWNER);
	__atomic_store_n(&t->head, t->head + EVENT_WORDS_INSTANCE, __ATOMIC_RELEASE);
}

static uint64_t write_slowly(struct core_page *p, struct wire_thread *t, uint64_t header,
			     const struct core_table *table, enum core_run_kind kind,
			     uint64_t frame, uint64_t limit)
{
	bool announces = kind == CORE_POLL && table->recipe;
	struct wire_run *run = innermost(t) + 1;
	uint64_t now, path = 0, state;

	open_run(t, run, header, frame);
	if (announces)
		announce(t, header);
	state = take_reference(header);
	if (announces)
		path = announced_path(t, header, state, table);
	else if (kind == CORE_SHUTDOWN)
		path = path_of_closed(t, header, table);
	now = ticks_now(p);
	tell_instance(t, header, table, now);
	if (announces)
		end_reading(t, header);
	run->task = name_of(header, table);
	run->id = run_number(now, CORE_RECORDED | (state & CORE_WANTED));
	write_start(t, header, run->task, EVENT_WORD2(header, path), kind, now, limit);
	return run->id;
}

struct core_pair core_enter_slowly(uint64_t header, enum core_run_kind kind, uint64_t frame,
				   uint64_t *id)
{
	const unsigned words = EVENT_WORDS_INSTANCE + EVENT_WORDS_RUN_START;
	const struct core_hooked hooked = core_hooked_of(header);
	const struct core_table *table = hooked.table;
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_RUN_START);
	struct wire_run *run;
	uint64_t limit;

	*id = 0;
	if (t && hooked.is_misplaced) {
		count_lost(t, EV_RUN_START);
		count_lost(t, EV_RUN_END);
		t = 0;
	}
	if (!t)
		return (struct core_pair){ table, 0 };
	if (!has_entry(t, frame)) {
		count_lost(t, EV_RUN_START);
		take_reference(header);
	} else if (reserve(p, t, EV_RUN_START, words, EVENT_WORDS_RUN_END, &limit)) {
		*id = write_slowly(p, t, header, table, kind, frame, limit);
	} else {
		run = innermost(t) + 1;
		open_run(t, run, header, frame);
		run->task = name_of(header, table);
		run->id = run_number(ticks_now(p), take_reference(header) & CORE_WANTED);
		*id = run->id | CORE_UNTOLD; /* so that the usual case does not end it */
	}
	return (struct core_pair){ table, t };
}

/* Tokio keeps a panic that it caught as the task's output, JoinError { payload, id }: three words
 * side by side. */
static bool is_join_error(uint64_t header, const struct core_table *table, uint64_t at,
			  const uint64_t payload[2])
{
	uint64_t id = load(header + table->id_off);

	/* the word before the first is the task's own id field, which proves nothing */
	return load(at) == payload[0] && load(at + 8) == payload[1] &&
	       ((at > header + table->stage_off && load(at - 8) == id) || load(at + 16) == id);
}

static bool holds_payload(uint64_t header, const struct core_table *table,
			  const struct wire_thread *t)
{
	uint64_t at = header + table->stage_off, end = header + table->trailer_off;

	if (end > at + PANIC_SEARCH_BYTES)
		end = at + PANIC_SEARCH_BYTES;
	for (; at + 16 <= end; at += 8)
		for (uint64_t i = 0; i < t->nr_panics && i < 3; i++)
			if (is_join_error(header, table, at, t->panics[i]))
				return true;
	return false;
}

/*
 * Did a panic leave the future? When it was raised, the stack said whether the runtime would be the
 * one to catch it; but a catch of the program's that was inlined beside the runtime's looks the
 * same. Where the output is still in its place (nobody took it, and somebody wants it) it has the
 * last word. Who awaits the task may be taking it at this very moment, word by word: so it must
 * stay in its place for a while without the panic.
 */
static bool has_panicked(uint64_t header, const struct core_table *table,
			 const struct wire_thread *t, uint64_t state)
{
	enum { NR_LOOKS = 32 };

	if (!(state & TOKIO_COMPLETE))
		return false;
	/* before 1.23 it is not known where the output lies */
	if (!(state & TOKIO_JOIN_INTEREST) || !table->stage_off)
		return true;
	for (unsigned i = 0; i < NR_LOOKS; i++) {
		uint32_t stage = load(header + table->stage_off);

		if (stage != TOKIO_STAGE_FINISHED || holds_payload(header, table, t))
			return true;
		arch_pause();
	}
	return false;
}

static void leave_run(struct core_page *p, struct wire_thread *t, struct wire_run *run,
		      const struct core_table *table)
{
	uint64_t state = load(run->header + TOKIO_STATE);
	unsigned flags = end_flags(state);

	/* Who awaits the task may have taken the panic already, and let go of the handle:
	 * it is lost only if nobody held that when the run began either. */
	if (run->id & CORE_ESCAPED && has_panicked(run->header, table, t, state))
		flags |= EF_END_PANICKED | end_flags(run->id & CORE_WANTED);
	end_run(p, t, run, flags);
}

bool core_leave_slowly(const struct core_table *table, struct wire_thread *t, uint64_t header,
		       uint64_t id)
{
	struct core_page *p = &core_page;
	struct wire_run *run;

	if (!t)
		return false;
	if (is_current(p, t) && !is_mine(p, t, thread_pointer())) {
		struct wire_run what = { .id = id, .task = name_of(header, table) };

		end_elsewhere(p, t, &what, EV_RUN_END, end_flags(load(header + TOKIO_STATE)));
	} else if (is_current(p, t)) {
		settle_runs(t);
		run = find_run(t, id);
		if (run)
			leave_run(p, t, run, table);
		else if (!id) /* of the others that are not there it was counted before */
			count_lost(t, EV_RUN_END);
	}
	return drop_reference(header);
}

/* ---- the other events ---- */

/* Is the task in the innermost run of this thread? Then it wakes itself, which shows by its next
 * run. */
static bool is_innermost(struct wire_thread *t, uint64_t header)
{
	const struct wire_run *run = current_run(t);

	return run && run->header == header;
}

uint64_t core_schedule_slowly(uint64_t header)
{
	const struct core_hooked hooked = core_hooked_of(header);
	const struct core_table *table = hooked.table;
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_WAKE);

	if (t && hooked.is_misplaced)
		count_lost(t, EV_WAKE);
	else if (t)
		put2(p, t, EV_WAKE, wake_flags(load(header + TOKIO_STATE)),
		     task_word(header, table));
	return table->schedule;
}

void core_wake_running(uint64_t header)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_WAKE);
	const struct core_table *table = core_table_of(header);

	if (!t || !table || is_innermost(t, header))
		return;
	put2(p, t, EV_WAKE, EF_WAKE_RUNNING, name_of(header, table));
}

void core_wake_tried(uint64_t header)
{
	struct core_page *p = &core_page;
	const struct core_table *table = p->threads ? core_table_of(header) : 0;
	uint64_t state = load(header + TOKIO_STATE);
	struct wire_thread *t;
	unsigned flags = EF_WAKE_TRIED;

	if (!table || state & (TOKIO_NOTIFIED | TOKIO_COMPLETE))
		return;
	t = self(p, EV_WAKE);
	if (!t)
		return;
	if (state & TOKIO_RUNNING) {
		if (is_innermost(t, header))
			return;
		flags |= EF_WAKE_RUNNING;
	}
	put2(p, t, EV_WAKE, flags, name_of(header, table));
}

uint64_t core_abort_tried(uint64_t header)
{
	struct core_page *p = &core_page;
	const struct core_table *table = core_table_of(header);
	struct wire_thread *t;

	if (p->threads && !(load(header + TOKIO_STATE) & TOKIO_LIFE)) {
		t = self(p, EV_WAKE);
		if (t)
			put2(p, t, EV_WAKE, EF_WAKE_TRIED | EF_WAKE_ABORT, name_of(header, table));
	}
	return table->abort;
}

/*
 * Was the output of a task never taken, whose JoinHandle is about to be dropped? Only that takes
 * it, so nobody can meanwhile. What completes from now on is not looked at any more.
 */
static bool is_unread(uint64_t header, const struct core_table *table)
{
	uint64_t state = __atomic_load_n((uint64_t *)(header + TOKIO_STATE), __ATOMIC_ACQUIRE);

	if (!(state & TOKIO_COMPLETE))
		return true;
	return table->stage_off &&
	       (uint32_t)load(header + table->stage_off) == TOKIO_STAGE_FINISHED;
}

uint64_t core_detach(uint64_t header)
{
	const struct core_hooked hooked = core_hooked_of(header);
	const struct core_table *table = hooked.table;
	struct core_page *p = &core_page;
	struct wire_thread *t;

	if (p->threads && is_unread(header, table)) {
		t = self(p, EV_DETACH);
		if (t && hooked.is_misplaced)
			count_lost(t, EV_DETACH);
		else if (t)
			put2(p, t, EV_DETACH, 0, name_of(header, table));
	}
	return core_detaches[table - core_tables];
}

bool core_is_task_size(uint64_t size)
{
	const struct core_page *p = &core_page;
	uint64_t unit = size / 128 % 1024;

	return p->cell_sizes[unit / 64] & UINT64_C(1) << unit % 64;
}

/* Both events or none, and no signal handler's between them: whoever reads need not guess which
 * stack is whose. */
static void put_spawn(struct core_page *p, struct wire_thread *t, uint64_t addr, uint64_t size,
		      uint32_t stack)
{
	uint64_t ticks, limit;
	uint64_t *at = reserve(p, t, EV_SPAWN, EVENT_WORDS_SPAWN, EVENT_WORDS_SPAWN_STACK, &limit);

	if (!at)
		return;
	ticks = ticks_now(p);
	at[0] = EVENT_WORD0(EV_SPAWN, 0, ticks);
	at[1] = addr;
	at[2] = size;
	at[3] = EVENT_WORD0(EV_SPAWN_STACK, 0, ticks);
	at[4] = stack;
	publish(t, t->head + EVENT_WORDS_SPAWN + EVENT_WORDS_SPAWN_STACK, limit);
}

void core_spawn(uint64_t addr, uint64_t size, uint32_t stack)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_SPAWN);

	if (!t)
		return;
	if (stack == WIRE_NO_STACK)
		put3(p, t, EV_SPAWN, addr, size);
	else
		put_spawn(p, t, addr, size, stack);
}

bool core_spawn_place(uint64_t header, const struct core_table *table, uint32_t stack)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_SPAWN_PLACE);
	uint64_t limit, *at;

	at = t ? reserve(p, t, EV_SPAWN_PLACE, EVENT_WORDS_SPAWN_PLACE, 0, &limit) : 0;
	if (!at)
		return false;
	at[0] = EVENT_WORD0(EV_SPAWN_PLACE, 0, ticks_now(p));
	at[1] = task_word(header, table);
	at[2] = stack;
	publish(t, t->head + EVENT_WORDS_SPAWN_PLACE, limit);
	return true;
}

struct wire_thread *core_sleep(unsigned flags)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_SLEEP);

	if (t)
		put1(p, t, EV_SLEEP, flags);
	return t;
}

void core_awake(struct wire_thread *t)
{
	struct core_page *p = &core_page;

	if (t && is_current(p, t))
		put1(p, t, EV_AWAKE, 0);
}

bool core_get_current(struct core_current *now)
{
	struct wire_thread *t = self(&core_page, 0);
	const struct wire_run *run = t ? current_run(t) : 0;

	if (run)
		*now = (struct core_current){ run->id, run->frame, run->id & CORE_ROOT };
	return run;
}

void core_panic(uint64_t data, uint64_t vtable, bool escapes)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_PANIC);
	struct wire_run *run;
	uint64_t *payload;

	if (!t)
		return;
	payload = t->panics[t->nr_panics++ % 3];
	payload[0] = data;
	payload[1] = vtable;
	run = current_run(t);
	if (run && escapes)
		run->id |= CORE_ESCAPED;
	put1(p, t, EV_PANIC, 0);
}

void core_thread_name(const char name[16])
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, 0);
	uint64_t words[2] = { 0, 0 };

	if (!t)
		return;
	for (unsigned i = 0; i < 15 && name[i]; i++)
		words[i / 8] |= (uint64_t)(unsigned char)name[i] << i % 8 * 8;
	put3(p, t, EV_THREAD_NAME, words[0], words[1]);
}

void core_thread_stop(struct wire_thread *t)
{
	struct core_page *p = &core_page;

	if (!is_current(p, t) || t->key != thread_pointer())
		return;
	put1(p, t, EV_THREAD_STOP, 0);
	set_live(p, t, false);
	__atomic_store_n(&t->state, WIRE_THREAD_DEAD, __ATOMIC_RELEASE);
	__atomic_store_n(&t->key, WIRE_KEY_DEAD, __ATOMIC_RELEASE);
}
