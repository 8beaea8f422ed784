// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What each kind of table asks of patch.c: one `const struct table_kind` for every enum
 * wire_table_kind, in a file of its own (patch_tokio.c, patch_async_task.c …), and one line in
 * the array of patch.c. None of this is on the way of an event.
 */
#ifndef AGENT_PATCH_H
#define AGENT_PATCH_H

#include "agent/agent.h"

struct table_kind {
	/* Has the plan all that `hook` goes by? */
	bool (*is_sane)(const struct wire_table *t);
	/* Writes the hooks; `words` agree with the plan and are writable. False: there is no room
	 * to remember what they held. */
	bool (*hook)(const struct wire_table *t, uint64_t *words, uint64_t base);
	/* Are our hooks in it? NULL: that does not show. Not of task tables, which have: */
	bool (*is_hooked)(const struct wire_table *t, const uint64_t *words);

	const void *run_hooks[3];		      /* that may stand in slot_poll */
	uint64_t (*mark)(const struct wire_table *t); /* as CORE_OLD; NULL: none */
	void (*hooked)(const struct wire_table *t);   /* it is; may be NULL */
	void (*refused)(const struct wire_table *t, uint64_t base); /* it is not; may be NULL */
};

extern const struct table_kind table_tokio HIDDEN, table_tokio_waker HIDDEN,
	table_tokio_type_waker HIDDEN, table_tokio_root_waker HIDDEN, table_async_task HIDDEN,
	table_async_task_waker HIDDEN, table_future HIDDEN, table_marks HIDDEN;

static inline bool patch_is_slot(const struct wire_table *t, unsigned slot)
{
	return slot < t->nr_words && t->code_mask & 1u << slot;
}

/* is_sane of a waker's table. */
static inline bool patch_has_wakes(const struct wire_table *t)
{
	return patch_is_slot(t, t->slot_wake) && patch_is_slot(t, t->slot_wake_by_ref);
}

/* The word as it is in memory before us. */
static inline uint64_t patch_planned(const struct wire_table *t, unsigned i, uint64_t base)
{
	return t->words[i] + (t->code_mask & 1u << i ? base : 0);
}

static inline void patch_write(uint64_t *slot, const void *hook)
{
	__atomic_store_n(slot, (uint64_t)hook, __ATOMIC_RELEASE);
}

/* For `hook` of a task table: its entry with all that every runtime's has, which the hooks find
 * only once it is published. NULL: no room. */
struct core_table *patch_entry(const struct wire_table *t, uint64_t base) HIDDEN;
void patch_publish(struct core_table *entry, const struct wire_table *t, uint64_t base) HIDDEN;

#endif
