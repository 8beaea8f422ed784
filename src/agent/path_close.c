// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shutdowns and readers of paths: path.h tells how they keep clear of each other. */
#include "agent/fast.h"

/* What is beside a closed task in its entry: tasks are aligned to more. */
enum {
	CLOSED, /* nothing yet: its readers are waited for */
	TAKEN,	/* by us */
	LET_GO, /* if it runs or is over, that is the runtime's doing */
	CLOSED_AS = 3,
};

/* The entry of a task, NULL: it is not in the list. */
static uint64_t *find_closed(uint64_t task)
{
	struct core_page *p = &core_page;

	for (unsigned i = 0; i < CORE_MAX_CLOSED; i++)
		if ((__atomic_load_n(&p->closed[i], __ATOMIC_RELAXED) & ~CLOSED_AS) == task)
			return &p->closed[i];
	return 0;
}

static bool is_idle(uint64_t task)
{
	return !(load(task + TOKIO_STATE) & (TOKIO_RUNNING | TOKIO_COMPLETE));
}

bool path_is_closed(uint64_t task, struct wire_thread *mine)
{
	enum { SPINS = 20000 }; /* who has it may be off its CPU, and we of a higher priority */
	const uint64_t *closed = find_closed(task);
	bool is_listed = closed;

	if (closed) /* we do not read: nobody need wait for us */
		__atomic_store_n(&mine->reading, 0, __ATOMIC_RELEASE);
	for (unsigned i = 0; closed && i < SPINS; i++) {
		uint64_t have = __atomic_load_n(closed, __ATOMIC_ACQUIRE);

		if ((have & ~CLOSED_AS) != task || (have == task + LET_GO && !is_idle(task)))
			break;
		arch_pause();
	}
	return is_listed || __atomic_load_n(&core_page.nr_unlisted, __ATOMIC_RELAXED);
}

bool path_close(uint64_t task)
{
	struct core_page *p = &core_page;
	bool is_listed = false;

	if (!p->has_paths)
		return false;
	for (unsigned i = 0; i < CORE_MAX_CLOSED && !is_listed; i++) {
		uint64_t free = 0;

		is_listed = __atomic_compare_exchange_n(&p->closed[i], &free, task, false,
							__ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	}
	if (!is_listed) /* more at once than anybody has threads: then all are closed */
		__atomic_fetch_add(&p->nr_unlisted, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&p->nr_closed, 1, __ATOMIC_SEQ_CST);
	return true;
}

static bool is_somewhere(uint64_t reading, const struct wire_thread *mine)
{
	const struct core_page *p = &core_page;
	const struct wire_region *r = p->region;

	for (unsigned i = 0; r && i < CORE_LIVE_WORDS; i++) {
		uint64_t live = __atomic_load_n(&p->live[i], __ATOMIC_RELAXED);

		for (; live; live &= live - 1) {
			const struct wire_thread *t = &r->threads[i * 64 + __builtin_ctzll(live)];

			if (t != mine && __atomic_load_n(&t->reading, __ATOMIC_ACQUIRE) == reading)
				return true;
		}
	}
	return false;
}

bool path_is_read(uint64_t task, const struct wire_thread *mine)
{
	return is_somewhere(task, mine);
}

bool path_was_read(uint64_t task, const struct wire_thread *mine)
{
	return is_idle(task) && is_somewhere(task + PATH_WAS_READ, mine);
}

/*
 * To set RUNNING and CANCELLED is what Tokio's shutdown does to an idle task, and all that others
 * do meanwhile (poll, wake, abort) does no harm to one: they leave it to whoever has it. Releases
 * before 1.13 count references by NOTIFIED there, so those that have no ids are left alone.
 */
static bool take(uint64_t task)
{
	uint64_t *state = (uint64_t *)(task + TOKIO_STATE), have = load(task + TOKIO_STATE);

	do {
		if (have & (TOKIO_RUNNING | TOKIO_COMPLETE))
			return false;
	} while (!__atomic_compare_exchange_n(state, &have, have | TOKIO_RUNNING | TOKIO_CANCELLED,
					      false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return true;
}

uint64_t path_of_closed(struct wire_thread *t, uint64_t task, const struct core_table *table)
{
	uint64_t *closed = table->recipe && table->id_off ? find_closed(task) : 0, path;

	if (!closed)
		return 0;
	__atomic_store_n(closed, task + TAKEN, __ATOMIC_SEQ_CST);
	if (!take(task))
		return 0;
	path = path_of(t, task, table);
	__atomic_fetch_and((uint64_t *)(task + TOKIO_STATE), ~(uint64_t)TOKIO_RUNNING,
			   __ATOMIC_RELEASE);
	return path;
}

void path_leave_closed(uint64_t task)
{
	uint64_t *closed = find_closed(task);

	if (closed)
		__atomic_store_n(closed, task + LET_GO, __ATOMIC_RELEASE);
}

void path_unclose(uint64_t task)
{
	struct core_page *p = &core_page;
	uint64_t *closed = find_closed(task);

	if (!__atomic_load_n(&p->nr_closed, __ATOMIC_RELAXED)) /* a fork wiped it */
		return;
	if (closed)
		__atomic_store_n(closed, 0, __ATOMIC_SEQ_CST);
	else if (__atomic_load_n(&p->nr_unlisted, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&p->nr_unlisted, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&p->nr_closed, 1, __ATOMIC_SEQ_CST);
}
