// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The header of a task is searched for the pointer to its table: the order of its fields is the
 * compiler's. Where the state is follows from that, and is believed only if it looks like the state
 * of a runnable task; otherwise tasks of that table pass unrecorded.
 */
#include "agent/async_task.h"

#include "agent/ring.h"

/* The state word, the same in every 4.x. */
#define SCHEDULED	1
#define RUNNING		2
#define COMPLETED	4
#define CLOSED		8
#define TASK		16 /* somebody holds the Task, async-task's join handle */
#define REFERENCE	256
#define MAX_REFS	(1 << 16) /* a task's first ones are few: more is something else */

#define HEADER_WORDS	5  /* every task has that many: the recogniser saw to it */
#define PROPAGATE_PANIC 32 /* where it is in a header of five words without metadata */
#define CLONE_WAKER	6  /* slot of a task table */
#define OUTPUT_SEARCH	1024

/* core_table.state_off */
#define STATE_UNKNOWN 0 /* not seen yet; else its offset + 1 */
#define STATE_NONE    UINT32_MAX

static struct async_waker wakers[CORE_MAX_ENTRIES];

struct async_waker *async_waker_find(uint64_t clone, bool make)
{
	uint64_t i = clone >> 4;

	for (unsigned tries = 0; tries < CORE_MAX_ENTRIES; tries++, i++) {
		struct async_waker *w = &wakers[i % CORE_MAX_ENTRIES];

		if (likely(w->clone == clone))
			return w;
		if (w->clone == 0)
			return make ? w : 0;
	}
	return 0;
}

/* There always is one: the hooks stand in its slots, or in wakers of tasks that have one. */
static struct core_table *find_table(uint64_t task, unsigned *word)
{
	struct core_table *table = 0;

	for (*word = 0; *word < HEADER_WORDS && !table; ++*word) {
		uint64_t addr = load(task + 8 * *word);

		if (addr)
			table = core_table_find(addr, false);
	}
	--*word;
	return table;
}

/*
 * The compiler orders the header: vtable, state, awaiter; state, awaiter, vtable; or, seen with
 * rustc 1.69, awaiter, state, vtable. Where the last has the state, the second has the awaiter's
 * own vtable: a pointer, or 0.
 */
static uint32_t find_state(uint64_t task, unsigned vtable_word)
{
	if (!vtable_word)
		return 8;
	return vtable_word == 3 && load(task + 16) - 1 < MAX_REFS * REFERENCE - 1 ? 16 : 0;
}

/* Of a task that is queued, so that its state is known in the main. */
static void learn_state(struct core_table *table, uint64_t task, unsigned vtable_word)
{
	uint32_t off = find_state(task, vtable_word);
	uint64_t state = load(task + off);
	bool is_sane = (state & (SCHEDULED | RUNNING | COMPLETED)) == SCHEDULED &&
		       state >= REFERENCE && state / REFERENCE < MAX_REFS;

	__atomic_store_n(&table->state_off, is_sane ? off + 1 : STATE_NONE, __ATOMIC_RELAXED);
}

/* Where the state of this task is, 0: not known. */
static uint64_t state_of(const struct core_table *table, uint64_t task)
{
	uint32_t off = __atomic_load_n(&table->state_off, __ATOMIC_RELAXED);

	return off == STATE_UNKNOWN || off == STATE_NONE ? 0 : task + off - 1;
}

const struct core_table *async_table_of(uint64_t task)
{
	unsigned word;
	struct core_table *table = find_table(task, &word);

	if (unlikely(table && table->state_off == STATE_UNKNOWN))
		learn_state(table, task, word);
	return table;
}

/* ---- runs ---- */

/* A reference for us, but to a task that will be dropped: of that no more need be known. */
static uint64_t hold(struct async_run *r, uint64_t state_addr, bool is_drop)
{
	uint64_t state = load(state_addr);

	r->is_held = !is_drop && !(state & CLOSED);
	if (r->is_held)
		state = __atomic_fetch_add((uint64_t *)state_addr, REFERENCE, __ATOMIC_RELAXED);
	return state;
}

static unsigned start_flags_of(uint64_t state, bool is_drop)
{
	if (is_drop)
		return EF_RUN_DROP | EF_RUN_SHUTDOWN;
	return state & CLOSED ? EF_RUN_DROP : 0;
}

void async_enter(struct async_run *r, uint64_t task, unsigned how)
{
	bool is_drop = how & ASYNC_DROP;
	struct core_page *p = &core_page;
	uint64_t state_addr, state, limit, path, now, *at;
	struct wire_thread *t;
	struct wire_run *run;

	r->table = async_table_of(task);
	r->slot = 0;
	r->is_held = r->has_returned = r->was_woken = false;
	r->end_flags = 0;
	r->task = task;
	r->state = r->run = 0;
	state_addr = state_of(r->table, task);
	r->is_watched = state_addr && how & ASYNC_WATCHED;
	t = state_addr ? self(p, EV_RUN_START) : 0;
	if (!t && !r->is_watched)
		return;
	r->state = state = hold(r, state_addr, is_drop);
	if (!t) {
		r->began = ticks_now(p);
		return;
	}
	r->slot = t;
	if (!has_entry(t, (uint64_t)r)) {
		count_lost(t, EV_RUN_START);
		r->began = ticks_now(p);
		return;
	}
	at = reserve(p, t, EV_RUN_START, EVENT_WORDS_RUN_START, EVENT_WORDS_RUN_END, &limit);
	run = innermost(t) + 1;
	open_run(t, run, task, (uint64_t)r);
	run->task = task | r->table->type_word;
	/* who holds a runnable has the future for himself: nobody need be told */
	path = at && r->table->recipe ? path_of(t, task, r->table) : 0;
	now = ticks_now(p);
	run->id = r->run = run_number(now, at ? CORE_RECORDED : 0);
	if (!at)
		return;
	at[1] = run->task;
	at[2] = EVENT_WORD2(task, path);
	at[0] = EVENT_WORD0(EV_RUN_START, start_flags_of(state, is_drop), now);
	publish(t, t->head + EVENT_WORDS_RUN_START, limit - EVENT_WORDS_RUN_END);
}

bool async_will_poll(const struct async_run *r)
{
	uint64_t state_addr = state_of(r->table, r->task);

	return r->is_held || (state_addr && !(load(state_addr) & CLOSED));
}

/* Is a panic that was raised in the run the task's output, Err(payload)? */
static bool holds_panic(const struct async_run *r)
{
	const struct wire_thread *t = r->slot;
	uint64_t at = r->task + r->table->stage_off;
	uint64_t end = r->task + r->table->trailer_off;

	if (end > at + OUTPUT_SEARCH)
		end = at + OUTPUT_SEARCH;
	for (; at + 16 <= end; at += 8)
		for (uint64_t i = 0; i < t->nr_panics && i < 3; i++)
			if (load(at) == t->panics[i][0] && load(at + 8) == t->panics[i][1])
				return true;
	return false;
}

/*
 * Did a panic leave the future of a run that returned? Only tasks that propagate panics have a
 * catch of their own. The output, while nobody has taken it, has the last word. Small metadata of
 * the program's may lie where the flag is looked for: what is no bool tells nothing, and then the
 * output alone can prove a panic.
 */
static bool has_panicked(const struct async_run *r, uint64_t state)
{
	bool is_output_there = (state & (TASK | CLOSED)) == TASK;
	uint8_t propagates =
		r->table->id_off > PROPAGATE_PANIC ? *(uint8_t *)(r->task + PROPAGATE_PANIC) : 0;

	if (!propagates)
		return false;
	return is_output_there ? holds_panic(r) : propagates == 1;
}

/*
 * When a waker was last dropped whose task somebody may hold a reference of ours on, by hash of the
 * task: ticks, and in the lower bits which thread it was.
 */
#define NR_DROPS    4096
#define THREAD_BITS 16
static uint64_t drops[NR_DROPS];

static uint64_t *drop_of(uint64_t task)
{
	return &drops[task * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}
_Static_assert(NR_DROPS == 1 << 12, "drop_of takes the upper 12 bits");

static uint64_t drop_word(uint64_t ticks)
{
	return ticks << THREAD_BITS | (thread_pointer() >> 6) % (1 << THREAD_BITS);
}

/* Has another thread dropped a waker of the task since the run began? */
static bool was_dropped_elsewhere(const struct async_run *r)
{
	uint64_t drop = __atomic_load_n(drop_of(r->task), __ATOMIC_ACQUIRE);
	uint64_t start = drop_word(r->run ? r->run >> CORE_RUN_SHIFT : r->began);

	return drop >> THREAD_BITS >= start >> THREAD_BITS && (drop ^ start) % (1 << THREAD_BITS);
}

/* Does anybody else know the task, or did until a moment ago? */
static bool has_others(const struct async_run *r, uint64_t state)
{
	return state / REFERENCE > 1 || (state | r->state) & TASK || was_dropped_elsewhere(r);
}

static unsigned wanted_flag(uint64_t state)
{
	return state & TASK ? EF_END_WANTED : 0;
}

/* escaped: a panic was on its way out of the future. */
static unsigned end_flags_of(const struct async_run *r, uint64_t state, bool escaped,
			     bool had_others)
{
	/* Who awaits the task may have taken the panic already, and let go of the handle. */
	unsigned panicked = EF_END_PANICKED | wanted_flag(r->state);
	unsigned wanted = wanted_flag(state);

	if (!r->is_held)
		return EF_END_COMPLETE; /* the future was dropped */
	if (!r->has_returned)
		return EF_END_COMPLETE | panicked | wanted;
	if (r->was_woken)
		return EF_END_NOTIFIED; /* what is complete now became so in a later run */
	if (state & COMPLETED)
		return EF_END_COMPLETE | wanted |
		       (escaped && has_panicked(r, state) ? panicked : 0);
	/* Closed while it ran; closed later it would be queued once more. Or ours is the last
	 * reference: nobody can ever wake it. */
	if ((state & (CLOSED | SCHEDULED)) == CLOSED || !had_others)
		return EF_END_COMPLETE | EF_END_CANCELLED;
	return wanted;
}

/*
 * Gives our reference back; had_others: right after the run somebody else had one. Whoever gives
 * the last one back has duties. A run that ends destroys its task at once if nobody else knows it;
 * but a waker or a Task that goes when it is the last one has a task that is not over queued once
 * more, so that its future is dropped. If that happened while we held ours, the duty is ours. If
 * the last one went before we saw the state, it may have gone before or after the run gave its own
 * reference back, and nobody can tell: both may happen without us, and the future is dropped.
 */
static enum async_last release(uint64_t state_addr, bool had_others)
{
	uint64_t state = load(state_addr), left;
	bool is_last, must_queue;

	do {
		left = state - REFERENCE;
		is_last = left / REFERENCE == 0 && !(left & TASK);
		must_queue = is_last && had_others && !(state & (COMPLETED | CLOSED));
		if (must_queue)
			left = SCHEDULED | CLOSED | REFERENCE;
	} while (!__atomic_compare_exchange_n((uint64_t *)state_addr, &state, left, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return must_queue ? ASYNC_SCHEDULE : is_last ? ASYNC_DESTROY : ASYNC_NOT_LAST;
}

enum async_last async_leave(struct async_run *r)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = r->slot;
	struct wire_run *run = 0;
	uint64_t state_addr, state = 0;
	bool is_mine_now, had_others;

	if (!t && !r->is_watched && !r->is_held)
		return ASYNC_NOT_LAST;
	state_addr = state_of(r->table, r->task);
	if (r->is_held)
		state = __atomic_load_n((uint64_t *)state_addr, __ATOMIC_ACQUIRE);
	had_others = r->is_held && has_others(r, state);
	is_mine_now = t && is_current(p, t) && is_mine(p, t, thread_pointer());
	if (is_mine_now) {
		settle_runs(t);
		run = find_run(t, r->run);
	}
	r->end_flags = end_flags_of(r, state, run && run->id & CORE_ESCAPED, had_others);
	/* The stamp after the look: an end that is a later run's must not seem to come before that
	 * run began. */
	if (r->end_flags & EF_END_COMPLETE)
		arch_finish_loads();
	if (run) {
		end_run(p, t, run, r->end_flags);
	} else if (is_mine_now && !r->run) {
		count_lost(t, EV_RUN_END);
	} else if (t && is_current(p, t) && !is_mine_now) {
		struct wire_run what = { .id = r->run, .task = r->task | r->table->type_word };

		end_elsewhere(p, t, &what, EV_RUN_END, r->end_flags);
	}
	return r->is_held ? release(state_addr, had_others) : ASYNC_NOT_LAST;
}

/* ---- what the runtime calls a task ---- */

/*
 * Nobody says which run of a task is its first. So the tasks that were told of late are remembered,
 * by a hash of their numbers; one that was forgotten is told again.
 */
#define NR_TOLD	     (1 << 16)
#define PIECE_BYTES  16
#define MAX_PIECES   8
#define NUMBER_WORDS EVENT_WORDS_TASK_NUMBER
#define NAME_WORDS   EVENT_WORDS_TASK_NAME

static struct wire_own_name own_names[CORE_MAX_ENTRIES]; /* as core_tables */
static uint64_t told[NR_TOLD];

void async_set_own_name(const struct core_table *table, const struct wire_own_name *own)
{
	own_names[table - core_tables] = *own;
}

/* Returns where the next piece goes. */
static uint64_t *put_piece(uint64_t *at, const uint8_t *text, uint64_t len, uint64_t ticks)
{
	unsigned flags = len > PIECE_BYTES ? EF_NAME_MORE : 0;

	at[0] = EVENT_WORD0(EV_TASK_NAME, flags, ticks);
	at[2] = at[3] = 0;
	for (unsigned i = 0; i < PIECE_BYTES && i < len; i++)
		at[2 + i / 8] |= (uint64_t)text[i] << i % 8 * 8;
	return at + NAME_WORDS;
}

/* All of it or nothing, and no signal handler's events between. */
static bool put_own_name(uint64_t task_word, uint64_t number, const uint8_t *text, uint64_t len)
{
	struct core_page *p = &core_page;
	struct wire_thread *t = self(p, EV_TASK_NUMBER);
	uint64_t nr = (len + PIECE_BYTES - 1) / PIECE_BYTES, ticks, limit, *at;

	nr = nr < MAX_PIECES ? nr : MAX_PIECES;
	at = t ? reserve(p, t, EV_TASK_NUMBER, NUMBER_WORDS, nr * NAME_WORDS, &limit) : 0;
	if (!at)
		return false;
	ticks = ticks_now(p);
	at[0] = EVENT_WORD0(EV_TASK_NUMBER, 0, ticks);
	at[1] = task_word;
	at[2] = number;
	at += NUMBER_WORDS;
	for (uint64_t i = 0; i < nr; i++) {
		at[1] = task_word;
		at = put_piece(at, text + i * PIECE_BYTES, len - i * PIECE_BYTES, ticks);
	}
	publish(t, t->head + NUMBER_WORDS + nr * NAME_WORDS, limit);
	return true;
}

static uint64_t future_of(uint64_t task, const struct wire_own_name *own)
{
	return own->box_off ? load(task + own->box_off) : task;
}

static uint64_t own_number(uint64_t task, const struct wire_own_name *own)
{
	return load(future_of(task, own) + own->number_off);
}

bool async_get_own_name(uint64_t task, const struct core_table *table, struct async_own_name *name)
{
	const struct wire_own_name *own = &own_names[table - core_tables];
	uint64_t text = 0;

	if (!own->has_number)
		return false;
	if (own->has_name)
		text = load(future_of(task, own) + own->name_off);
	*name = (struct async_own_name){ .number = own_number(task, own),
					 .text = text ? (const char *)load(text + own->text_off)
						      : 0,
					 .len = text ? load(text + own->len_off) : 0 };
	return true;
}

void async_tell_own_name(uint64_t task)
{
	const struct core_table *table = async_table_of(task);
	const struct wire_own_name *own = &own_names[table - core_tables];
	struct async_own_name name;
	uint64_t *known;

	if (!core_page.threads || !state_of(table, task))
		return;
	/* it is queued and we are about to run it: the future is there, and nobody else looks */
	name.number = own_number(task, own);
	known = &told[name.number % NR_TOLD];
	if (likely(__atomic_load_n(known, __ATOMIC_RELAXED) == (name.number ^ table->type_word)))
		return;
	async_get_own_name(task, table, &name);
	if (put_own_name(task | table->type_word, name.number, (const uint8_t *)name.text,
			 name.len))
		__atomic_store_n(known, name.number ^ table->type_word, __ATOMIC_RELAXED);
}

/* ---- spawns and wakes ---- */

static bool has_none(uint64_t state_addr, uint64_t bits)
{
	return state_addr && !(load(state_addr) & bits);
}

bool async_is_spawn(uint64_t task)
{
	return has_none(state_of(async_table_of(task), task), CLOSED);
}

bool async_is_idle(uint64_t task)
{
	unsigned word;

	return has_none(state_of(find_table(task, &word), task),
			SCHEDULED | RUNNING | COMPLETED | CLOSED);
}

const struct core_table *async_schedule(uint64_t task, uint32_t stack)
{
	const struct core_table *table = async_table_of(task);
	uint64_t state_addr = state_of(table, task);
	struct core_page *p = &core_page;
	struct wire_thread *t;

	if (!state_addr)
		return table;
	if (load(state_addr) & CLOSED) {
		t = self(p, EV_WAKE);
		if (t)
			put2(p, t, EV_WAKE, EF_WAKE_ABORT, task | table->type_word);
	} else {
		core_spawn(task, table->trailer_off, stack);
	}
	return table;
}

const struct async_waker *async_wake(uint64_t task)
{
	unsigned word, flags = EF_WAKE_TRIED;
	const struct core_table *table = find_table(task, &word);
	const struct async_waker *w = async_waker_find(load(table->addr + 8 * CLONE_WAKER), false);
	uint64_t state_addr = state_of(table, task), state;
	struct core_page *p = &core_page;
	const struct wire_run *run;
	struct wire_thread *t;

	if (!state_addr || !p->threads)
		return w;
	state = load(state_addr);
	if (state & (SCHEDULED | COMPLETED | CLOSED))
		return w;
	t = self(p, EV_WAKE);
	if (!t)
		return w;
	if (state & RUNNING) {
		/* on its own thread it wakes itself, which shows by its next run */
		run = current_run(t);
		if (run && run->header == task)
			return w;
		flags |= EF_WAKE_RUNNING;
	}
	put2(p, t, EV_WAKE, flags, task | table->type_word);
	return w;
}

const struct async_waker *async_drop_waker(uint64_t task)
{
	unsigned word;
	const struct core_table *table = find_table(task, &word);
	uint64_t state_addr = state_of(table, task), state = state_addr ? load(state_addr) : 0;
	uint64_t nr_refs = state / REFERENCE;

	/* this one, ours, and maybe that of the run, and nobody holds the Task */
	if (unlikely(nr_refs >= 2 && nr_refs <= 3 && !(state & (TASK | COMPLETED | CLOSED)) &&
		     core_page.region))
		__atomic_store_n(drop_of(task), drop_word(ticks_now(&core_page)), __ATOMIC_RELEASE);
	return async_waker_find(load(table->addr + 8 * CLONE_WAKER), false);
}
