// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which hooks go into the tables of Tokio 1. */
#include "agent/patch.h"
#include "agent/redirect.h"

/* ---- task tables ---- */

/* Of Tokio before 1.23: no ids, no slot for all wakes, the pointer to the table at several places.
 */
static bool is_old(const struct wire_table *t)
{
	return !t->id_off;
}

static uint64_t mark(const struct wire_table *t)
{
	return is_old(t) ? CORE_OLD : 0;
}

static bool is_sane(const struct wire_table *t)
{
	if (!patch_is_slot(t, t->slot_poll) || !patch_is_slot(t, t->slot_dealloc) ||
	    !patch_is_slot(t, t->slot_shutdown) ||
	    (t->slot_detach && !patch_is_slot(t, t->slot_detach)))
		return false;
	if (is_old(t))
		return t->slot_abort == WIRE_NO_SLOT || patch_is_slot(t, t->slot_abort);
	return t->vtable_off == 16 && t->scheduler_off >= 24 && t->scheduler_off <= UINT16_MAX &&
	       t->local_off <= UINT16_MAX && patch_is_slot(t, t->slot_schedule);
}

/* tokio_unstable since 1.46: behind the id lies where the task was spawned. */
static bool has_place(const struct wire_table *t)
{
	return !is_old(t) && t->stage_off == t->id_off + 16;
}

static const void *run_hook(const struct wire_table *t)
{
	if (t->task_kind == WIRE_TASK_WORKER)
		return futrace_hook_poll_worker;
	return has_place(t) ? futrace_hook_poll_placed : futrace_hook_poll;
}

static bool hook(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	unsigned wakes = is_old(t) ? t->slot_abort : t->slot_schedule;
	struct core_table *entry = patch_entry(t, base);

	if (!entry)
		return false;
	if (is_old(t))
		core_bar_zero();
	if (wakes != WIRE_NO_SLOT)
		entry->schedule = patch_planned(t, wakes, base);
	entry->scheduler_off = t->scheduler_off;
	entry->local_off = t->local_off;
	if (t->slot_detach)
		core_detaches[entry - core_tables] = patch_planned(t, t->slot_detach, base);
	patch_publish(entry, t, base);
	patch_write(words + t->slot_poll, run_hook(t));
	if (wakes != WIRE_NO_SLOT)
		patch_write(words + wakes, is_old(t) ? futrace_hook_abort : futrace_hook_schedule);
	patch_write(words + t->slot_shutdown, futrace_hook_shutdown);
	if (t->slot_detach)
		patch_write(words + t->slot_detach, futrace_hook_detach);
	return true;
}

static void note_cell_size(const struct wire_table *t)
{
	if (is_old(t)) /* its tasks are not aligned */
		return;
	/* A task is a Cell: trailer and all, rounded up to its alignment of 128. The trailer's size
	 * differs between versions (about 32 to 64 bytes): both neighbours are let in. */
	for (unsigned extra = 0; extra <= 1; extra++) {
		uint64_t unit = (t->trailer_off / 128 + 1 + extra) % 1024;

		core_page.cell_sizes[unit / 64] |= UINT64_C(1) << unit % 64;
	}
}

const struct table_kind table_tokio = {
	.is_sane = is_sane,
	.hook = hook,
	.run_hooks = { futrace_hook_poll, futrace_hook_poll_placed, futrace_hook_poll_worker },
	.mark = mark,
	.hooked = note_cell_size,
};

/* ---- tables of wakers: of all tasks, of one type of task, of root futures ---- */

static void keep_wakes(struct core_waker *w, const struct wire_table *t, const uint64_t *words,
		       uint64_t base)
{
	w->addr = (uint64_t)words;
	w->wake = patch_planned(t, t->slot_wake, base);
	w->wake_by_ref = patch_planned(t, t->slot_wake_by_ref, base);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static bool hook_waker(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	for (unsigned i = 0; i < CORE_MAX_WAKERS; i++) {
		struct core_waker *w = &core_wakers[i];

		if (w->addr && w->addr != (uint64_t)words)
			continue;
		keep_wakes(w, t, words, base);
		patch_write(words + t->slot_wake, hook_wake[i]);
		patch_write(words + t->slot_wake_by_ref, hook_wake_by_ref[i]);
		return true;
	}
	return false;
}

const struct table_kind table_tokio_waker = {
	.is_sane = patch_has_wakes,
	.hook = hook_waker,
};

static bool hook_type_waker(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	static uint32_t nr; /* objects are hooked one at a time */
	const char *hooks = hook_type_wakers + 2 * nr * HOOK_THUNK_BYTES;

	if (nr == CORE_MAX_TYPE_WAKERS)
		return false;
	keep_wakes(&core_type_wakers[nr++], t, words, base);
	patch_write(words + t->slot_wake, hooks);
	patch_write(words + t->slot_wake_by_ref, hooks + HOOK_THUNK_BYTES);
	return true;
}

static bool is_type_waker_hooked(const struct wire_table *t, const uint64_t *words)
{
	return words[t->slot_wake] - (uint64_t)hook_type_wakers < sizeof(hook_type_wakers);
}

const struct table_kind table_tokio_type_waker = {
	.is_sane = patch_has_wakes,
	.hook = hook_type_waker,
	.is_hooked = is_type_waker_hooked,
};

static bool hook_root_waker(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct root_waker *w = root_waker_take((uint64_t)words);

	if (!w)
		return false;
	w->wake = (hook_fn)patch_planned(t, t->slot_wake, base);
	w->wake_by_ref = (hook_fn)patch_planned(t, t->slot_wake_by_ref, base);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	patch_write(words + t->slot_wake, w->wake_hook);
	patch_write(words + t->slot_wake_by_ref, w->wake_by_ref_hook);
	return true;
}

static bool is_root_waker_hooked(const struct wire_table *t, const uint64_t *words)
{
	return root_waker_is_hook(words[t->slot_wake]);
}

const struct table_kind table_tokio_root_waker = {
	.is_sane = patch_has_wakes,
	.hook = hook_root_waker,
	.is_hooked = is_root_waker_hooked,
};
