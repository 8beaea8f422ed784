// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The usual case of a poll and of a wake, made to be inlined into the hooks: some forty
 * instructions each, no call, no lock but the reference. Stores are what costs most (the runtime's
 * own atomic operations wait for every one of them), then instructions. Whatever is out of the
 * ordinary goes to core.c.
 *
 * The caller gives the thread's slot, or NULL when it does not know it yet.
 */
#ifndef AGENT_FAST_H
#define AGENT_FAST_H

#include "agent/path.h"
#include "arch/thread.h"
#include "arch/ticks.h"

#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Keeps the compiler, not the processor, from moving stores: for a signal handler on the same
 * thread. */
#define barrier() __asm__ volatile("" ::: "memory")

/* Header of a Tokio task, the same from 1.21 on. */
#define TOKIO_STATE  0
#define TOKIO_VTABLE 16
#define TOKIO_OWNER  24 /* counts the runtimes and LocalSets of this copy of Tokio, 0: none */

ALWAYS_INLINE uint64_t load(uint64_t addr)
{
	return __atomic_load_n((uint64_t *)addr, __ATOMIC_RELAXED);
}

ALWAYS_INLINE uint64_t fast_ticks(void)
{
	return arch_ticks() - core_page.base_ticks;
}

ALWAYS_INLINE uint64_t *word_at(const struct wire_thread *t, uint64_t count)
{
	return (uint64_t *)(t->bias + count * 8);
}

/*
 * The consumer has read the lines that come next, so they lie in its caches. A store there waits
 * for them, and the runtime's next atomic operation for the store; so they are asked for two lines
 * ahead. Beyond the segment that has no effect.
 */
ALWAYS_INLINE void prefetch_room(const struct wire_thread *t, uint64_t head)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)(word_at(t, head) + 16)));
}

/* Makes all words up to head visible to the consumer, and room up to limit to the next event. */
ALWAYS_INLINE void publish(struct wire_thread *t, uint64_t head, uint64_t limit)
{
	prefetch_room(t, head);
	__atomic_store_n(&t->head, head, __ATOMIC_RELEASE);
	barrier();
	t->limit = limit;
}

/* The entry if it is where it is usually found, else NULL. */
ALWAYS_INLINE const struct core_table *fast_table(uint64_t header)
{
	uint64_t addr = load(header + TOKIO_VTABLE);
	const struct core_table *table = &core_tables[(addr >> 4) % CORE_MAX_ENTRIES];

	return likely(table->addr == addr) ? table : 0;
}

ALWAYS_INLINE uint64_t task_word(uint64_t header, const struct core_table *table)
{
	/* ids count tasks: none will ever need more than 48 bits */
	return load(header + table->id_off) | table->type_word;
}

/*
 * Which runtime or LocalSet owns the task. An owner's number is given once, but each copy of Tokio
 * counts for itself; a scheduler's address is one copy's, but is used again. Nobody makes 65,536
 * of them between two runs of a thread, the last at the address of the first.
 */
ALWAYS_INLINE uint64_t instance_key(uint64_t header, const struct core_table *table)
{
	return load(header + table->scheduler_off) + (load(header + TOKIO_OWNER) << 48);
}

ALWAYS_INLINE unsigned start_flags(uint64_t state, enum core_run_kind kind)
{
	unsigned flags = kind == CORE_SHUTDOWN ? EF_RUN_SHUTDOWN : 0;

	if (likely(!(state & (TOKIO_RUNNING | TOKIO_COMPLETE | TOKIO_CANCELLED))))
		return flags;
	if (state & TOKIO_COMPLETE || (!flags && state & TOKIO_RUNNING))
		return flags | EF_RUN_FINISHED;
	return flags || !(state & TOKIO_CANCELLED) ? flags : EF_RUN_DROP;
}

/*
 * Puts the mark that an event is being written (limit = 0) and returns the limit that was. The mark
 * comes first, then the look at head: a signal handler that comes in before it is done when we go
 * on, one that comes in after it finds no room.
 */
ALWAYS_INLINE uint64_t mark(struct wire_thread *t)
{
	uint64_t limit = t->limit;

	t->limit = 0;
	barrier();
	return limit;
}

ALWAYS_INLINE void unmark(struct wire_thread *t, uint64_t limit)
{
	barrier();
	t->limit = limit;
}

/* word2: the header, and the task's path. */
ALWAYS_INLINE void write_start(struct wire_thread *t, uint64_t header, uint64_t task,
			       uint64_t word2, enum core_run_kind kind, uint64_t now,
			       uint64_t limit)
{
	uint64_t head = t->head, *at = word_at(t, head);

	at[1] = task;
	at[2] = word2;
	/* The state as late as can be: an abort or a shutdown from elsewhere may come between our
	 * look and Tokio's. */
	at[0] = EVENT_WORD0(EV_RUN_START, start_flags(load(header + TOKIO_STATE), kind), now);
	publish(t, head + EVENT_WORDS_RUN_START, limit - EVENT_WORDS_RUN_END);
}

/* Is it the path of a task whose recipe begins with that edge? */
ALWAYS_INLINE bool path_holds(const struct wire_path *p, uint32_t edge, uint64_t task)
{
	const struct wire_check *c = p->checks, *end = c + p->nr_near;
	uint64_t differs = 0;

	if (unlikely(__atomic_load_n(&p->recipe, __ATOMIC_ACQUIRE) != edge || !p->nr_checks))
		return false;
	for (; c < end; c++)
		differs |= (load(task + c->off) ^ c->value) & c->mask;
	return likely(!differs) && (p->nr_checks == p->nr_near || path_holds_far(p, task));
}

/* Where the task stands; nobody else may touch its future meanwhile. */
ALWAYS_INLINE uint64_t path_of(const struct wire_thread *t, uint64_t task,
			       const struct core_table *table)
{
	struct path_start *s = &path_starts[table->recipe];
	uint16_t *last =
		&path_last[t - core_page.region->threads][(task >> 7 ^ task >> 14) % PATH_NR_LAST];
	uint64_t was = *last, number = __atomic_load_n(&path_next[was], __ATOMIC_RELAXED);

	if (unlikely(!path_holds(&core_page.region->paths[number], s->edge, task)))
		return path_follow(task, s, last);
	if (was != number)
		*last = number;
	return number;
}

/* Before our reference on a task is taken, whose path shall be read. */
ALWAYS_INLINE void announce(struct wire_thread *t, uint64_t header)
{
	__atomic_store_n(&t->reading, header, __ATOMIC_RELAXED);
	barrier();
}

/* Once the reference was taken, when `state` was this. */
ALWAYS_INLINE uint64_t announced_path(struct wire_thread *t, uint64_t header, uint64_t state,
				      const struct core_table *table)
{
	barrier();
	if (unlikely(__atomic_load_n(&core_page.nr_closed, __ATOMIC_RELAXED) &&
		     path_is_closed(header, t)))
		return 0;
	return likely(!(state & (TOKIO_RUNNING | TOKIO_COMPLETE))) ? path_of(t, header, table) : 0;
}

/* Late: next, the runtime takes the task. */
ALWAYS_INLINE void end_reading(struct wire_thread *t, uint64_t header)
{
	__atomic_store_n(&t->reading, header + PATH_WAS_READ, __ATOMIC_RELEASE);
}

ALWAYS_INLINE uint64_t stack_pointer(void)
{
	return arch_stack_pointer();
}

ALWAYS_INLINE struct wire_run *innermost(const struct wire_thread *t)
{
	return (struct wire_run *)t->top;
}

/* Has the table no such entry? It is aligned to its size. */
ALWAYS_INLINE bool is_beyond(const struct wire_run *run)
{
	return (uint64_t)run % WIRE_RUNS_BYTES == 0;
}

ALWAYS_INLINE uint64_t run_number(uint64_t now, uint64_t bits)
{
	return now << CORE_RUN_SHIFT | CORE_OPEN | bits;
}

/* Opens the run. First of all it has its entry: a signal handler that comes in then uses the next
 * one. */
ALWAYS_INLINE void open_run(struct wire_thread *t, struct wire_run *run, uint64_t header,
			    uint64_t frame)
{
	t->top = (uint64_t)run;
	barrier();
	run->header = header;
	run->frame = frame;
}

/* Ours, so that the header can be looked at when the run is over. Returns the state before. */
ALWAYS_INLINE uint64_t take_reference(uint64_t header)
{
	return __atomic_fetch_add((uint64_t *)header, TOKIO_REF, __ATOMIC_RELAXED);
}

ALWAYS_INLINE struct core_entry enter_slowly(uint64_t header, enum core_run_kind kind)
{
	uint64_t run;
	struct core_pair p = core_enter_slowly(header, kind, stack_pointer(), &run);

	return (struct core_entry){ p.table, p.slot, header, run };
}

ALWAYS_INLINE struct core_entry core_enter(uint64_t header, enum core_run_kind kind,
					   struct wire_thread *t)
{
	const unsigned words = EVENT_WORDS_RUN_START + EVENT_WORDS_RUN_END;
	const struct core_table *table = fast_table(header);
	uint64_t limit, path = 0, now, state;
	struct core_entry e = { table, t, header, 0 };
	struct wire_run *run;

	if (unlikely(kind != CORE_POLL || !t || !core_page.fast_threads || !table))
		return enter_slowly(header, kind);
	limit = mark(t);
	run = innermost(t) + 1;
	if (unlikely(t->head + words > limit || t->instance != instance_key(header, table) ||
		     is_beyond(run))) {
		unmark(t, limit);
		return enter_slowly(header, kind);
	}
	open_run(t, run, header, stack_pointer());
	if (table->recipe) {
		announce(t, header);
		state = take_reference(header);
		path = announced_path(t, header, state, table);
		now = fast_ticks();
		end_reading(t, header);
	} else {
		state = take_reference(header);
		now = fast_ticks();
	}
	run->task = task_word(header, table);
	run->id = e.run = run_number(now, CORE_RECORDED | (state & CORE_WANTED));
	write_start(t, header, run->task, EVENT_WORD2(header, path), kind, now, limit);
	return e;
}
_Static_assert(CORE_WANTED == TOKIO_JOIN_INTEREST, "as in Tokio's state word");

/* What the state word says when a run is over: its bits from COMPLETE on are the event's flags. */
ALWAYS_INLINE unsigned end_flags(uint64_t state)
{
	return state >> 1 & (EF_END_COMPLETE | EF_END_NOTIFIED | EF_END_WANTED | EF_END_CANCELLED);
}
_Static_assert(EF_END_COMPLETE == TOKIO_COMPLETE >> 1 && EF_END_NOTIFIED == TOKIO_NOTIFIED >> 1 &&
		       EF_END_WANTED == TOKIO_JOIN_INTEREST >> 1 &&
		       EF_END_CANCELLED == TOKIO_CANCELLED >> 1,
	       "flags of RUN_END lie as in Tokio's state word");

/* Ends the innermost run, or poll of a future, whose start is in the ring: room for its end was
 * kept. */
ALWAYS_INLINE void write_end(struct wire_thread *t, const struct wire_run *run, unsigned kind,
			     unsigned flags, uint64_t now)
{
	uint64_t limit = mark(t), head = t->head, *at = word_at(t, head);

	t->top = (uint64_t)(run - 1); /* under the mark: until then room for the end is kept */
	at[0] = EVENT_WORD0(kind, flags, now);
	publish(t, head + EVENT_WORDS_RUN_END, limit + EVENT_WORDS_RUN_END);
}
_Static_assert(EVENT_WORDS_RUN_END == EVENT_WORDS_FUTURE_END, "one function for both");

ALWAYS_INLINE bool drop_reference(uint64_t header)
{
	uint64_t state = __atomic_fetch_sub((uint64_t *)header, TOKIO_REF, __ATOMIC_ACQ_REL);

	return unlikely(state / TOKIO_REF == 1);
}

/* mine is the thread's slot now: another one than at the start after a fork inside the run, or on
 * another thread. */
ALWAYS_INLINE bool core_leave(const struct core_entry *e, const struct wire_thread *mine)
{
	struct wire_thread *t = e->slot;
	uint64_t state;

	if (unlikely(!t || t != mine || !core_page.fast_threads || innermost(t)->id != e->run))
		return core_leave_slowly(e->table, t, e->header, e->run);
	/*
	 * The state before the clock: a thread that loses its CPU between the two stamps late, and
	 * runs that follow began before. The other way round it would find what they did to the
	 * task, COMPLETE long before they ran.
	 */
	state = load(e->header + TOKIO_STATE);
	__asm__ volatile("" : "+r"(state));
	write_end(t, innermost(t), EV_RUN_END, end_flags(state), fast_ticks());
	return drop_reference(e->header);
}

ALWAYS_INLINE unsigned wake_flags(uint64_t state)
{
	return unlikely(state & TOKIO_CANCELLED) ? EF_WAKE_ABORT : 0;
}

ALWAYS_INLINE uint64_t core_schedule(uint64_t header, struct wire_thread *t)
{
	const struct core_table *table = fast_table(header);
	uint64_t *at, head, limit;

	if (unlikely(!t || !core_page.fast_threads || !table))
		return core_schedule_slowly(header);
	limit = mark(t);
	head = t->head;
	if (unlikely(head + EVENT_WORDS_WAKE > limit)) {
		unmark(t, limit);
		return core_schedule_slowly(header);
	}
	at = word_at(t, head);
	at[1] = task_word(header, table);
	at[0] = EVENT_WORD0(EV_WAKE, wake_flags(load(header + TOKIO_STATE)), fast_ticks());
	publish(t, head + EVENT_WORDS_WAKE, limit);
	return table->schedule;
}

ALWAYS_INLINE bool core_is_running(uint64_t header)
{
	return unlikely((load(header + TOKIO_STATE) & TOKIO_LIFE) == TOKIO_RUNNING);
}

#endif
