// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which hooks go into the tables of async-task 4. */
#include "agent/async_task.h"
#include "agent/patch.h"

#define CLONE_WAKER 6 /* slot of a task table */

static bool is_sane(const struct wire_table *t)
{
	return t->nr_words > CLONE_WAKER && patch_is_slot(t, t->slot_poll) &&
	       patch_is_slot(t, t->slot_schedule) && patch_is_slot(t, t->slot_dealloc) &&
	       patch_is_slot(t, t->slot_shutdown);
}

static bool hook(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct core_table *entry = patch_entry(t, base);
	bool is_named = t->own_name.has_number;

	if (!entry)
		return false;
	entry->schedule = patch_planned(t, t->slot_schedule, base);
	entry->state_off = 0; /* to be learnt */
	if (is_named)
		async_set_own_name(entry, &t->own_name);
	patch_publish(entry, t, base);
	patch_write(words + t->slot_poll, is_named ? futrace_hook_run_named : futrace_hook_run);
	patch_write(words + t->slot_schedule, futrace_hook_schedule_task);
	patch_write(words + t->slot_shutdown,
		    is_named ? futrace_hook_drop_named : futrace_hook_drop_future);
	return true;
}

/* Its tasks would not be found by the hooks of their wakers. */
static void leave_wakers_alone(const struct wire_table *t, uint64_t base)
{
	uint64_t clone = patch_planned(t, CLONE_WAKER, base);
	struct async_waker *w = async_waker_find(clone, true);

	if (w) {
		w->is_broken = true;
		w->clone = clone;
	}
}

const struct table_kind table_async_task = {
	.is_sane = is_sane,
	.hook = hook,
	.run_hooks = { futrace_hook_run, futrace_hook_run_named },
	.refused = leave_wakers_alone,
};

static bool hook_waker(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct async_waker *w = async_waker_find(words[0], true);

	if (!w || w->is_broken)
		return false;
	w->wake = patch_planned(t, t->slot_wake, base);
	w->wake_by_ref = patch_planned(t, t->slot_wake_by_ref, base);
	w->drop = patch_planned(t, t->slot_dealloc, base);
	__atomic_store_n(&w->clone, words[0], __ATOMIC_RELEASE);
	patch_write(words + t->slot_wake, futrace_hook_wake);
	patch_write(words + t->slot_wake_by_ref, futrace_hook_wake_by_ref);
	patch_write(words + t->slot_dealloc, futrace_hook_drop_waker);
	return true;
}

static bool is_sane_waker(const struct wire_table *t)
{
	return patch_has_wakes(t) && patch_is_slot(t, t->slot_dealloc);
}

static bool is_waker_hooked(const struct wire_table *t, const uint64_t *words)
{
	return words[t->slot_wake] == (uint64_t)futrace_hook_wake;
}

const struct table_kind table_async_task_waker = {
	.is_sane = is_sane_waker,
	.hook = hook_waker,
	.is_hooked = is_waker_hooked,
};
