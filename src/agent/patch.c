// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Hooks static tables. Every word of a table is compared with the plan before anything is written;
 * a table that differs is refused. Tables lie in RELRO pages: these are made writable for the
 * moment, and read-only again.
 */
#include "agent/agent.h"
#include "agent/async_task.h"
#include "agent/redirect.h"

#include <sys/mman.h>

#define ASYNC_CLONE_WAKER 6 /* slot of a task table of async-task */

#define PAGE_MASK	  (~(uint64_t)(WIRE_PAGE - 1))

static bool slot_is_sane(const struct wire_table *t, unsigned slot)
{
	return slot < t->nr_words && t->code_mask & 1u << slot;
}

/* Of Tokio before 1.23: no ids, no slot for all wakes, the pointer to the table at several places.
 */
static bool is_old(const struct wire_table *t)
{
	return t->kind == WIRE_TABLE_TOKIO && !t->id_off;
}

/* Under which its entry is found. */
static uint64_t key_of(const struct wire_table *t, uint64_t base)
{
	return base + t->va + (is_old(t) ? CORE_OLD : 0);
}

static bool is_sane(const struct wire_table *t)
{
	if (t->nr_words > WIRE_TABLE_WORDS || t->va % 8)
		return false;
	if (!wire_is_task_table(t->kind))
		return slot_is_sane(t, t->slot_wake) && slot_is_sane(t, t->slot_wake_by_ref);
	if (is_old(t))
		return slot_is_sane(t, t->slot_poll) && slot_is_sane(t, t->slot_dealloc) &&
		       slot_is_sane(t, t->slot_shutdown) &&
		       (t->slot_abort == WIRE_NO_SLOT || slot_is_sane(t, t->slot_abort));
	return (t->kind != WIRE_TABLE_TOKIO || (t->vtable_off == 16 && t->scheduler_off >= 24)) &&
	       (t->kind != WIRE_TABLE_ASYNC_TASK || t->nr_words > ASYNC_CLONE_WAKER) &&
	       slot_is_sane(t, t->slot_poll) && slot_is_sane(t, t->slot_schedule) &&
	       slot_is_sane(t, t->slot_dealloc) && slot_is_sane(t, t->slot_shutdown);
}

static uint64_t planned(const struct wire_table *t, unsigned i, uint64_t base)
{
	return t->words[i] + (t->code_mask & 1u << i ? base : 0);
}

static bool agrees(const struct wire_table *t, const uint64_t *words, uint64_t base)
{
	for (unsigned i = 0; i < t->nr_words; i++)
		if (words[i] != planned(t, i, base))
			return false;
	return true;
}

/* Does the table lie in memory that the object has, whatever the plan says? */
static bool is_inside(const struct patch_object *o, const struct wire_table *t)
{
	for (unsigned i = 0; i < o->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &o->phdrs[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && t->va >= ph->p_vaddr &&
		    t->va + t->nr_words * 8 <= ph->p_vaddr + ph->p_filesz)
			return true;
	}
	return false;
}

/* The protection that the loader left on the page of va. */
static int protection(const struct patch_object *o, uint64_t va)
{
	int prot = PROT_READ;

	for (unsigned i = 0; i < o->nr_phdrs; i++) {
		const ElfW(Phdr) *ph = &o->phdrs[i];
		uint64_t from = ph->p_vaddr & PAGE_MASK, to = ph->p_vaddr + ph->p_memsz;

		if (ph->p_type == PT_GNU_RELRO && va >= from && va < (to & PAGE_MASK))
			return PROT_READ;
		if (ph->p_type == PT_LOAD && va >= from && va < to)
			prot = PROT_READ | (ph->p_flags & PF_W ? PROT_WRITE : 0) |
			       (ph->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return prot;
}

static int unprotect(const struct patch_object *o, const struct wire_table *t)
{
	uint64_t from = (o->base + t->va) & PAGE_MASK;
	uint64_t to = (o->base + t->va + t->nr_words * 8 + WIRE_PAGE - 1) & PAGE_MASK;

	return mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
}

static void protect_again(const struct patch_object *o, const struct wire_table *t)
{
	for (uint64_t va = t->va & PAGE_MASK; va < t->va + t->nr_words * 8; va += WIRE_PAGE)
		mprotect((void *)(o->base + va), WIRE_PAGE, protection(o, va));
}

static void write_slot(uint64_t *slot, const void *hook)
{
	__atomic_store_n(slot, (uint64_t)hook, __ATOMIC_RELEASE);
}

/* What stands in the slots of task tables of each kind. */
static const struct task_hooks {
	const void *run, *schedule, *shutdown;
} task_hooks[] = {
	[WIRE_TABLE_TOKIO] = { futrace_hook_poll, futrace_hook_schedule, futrace_hook_shutdown },
	[WIRE_TABLE_ASYNC_TASK] = { futrace_hook_run, futrace_hook_schedule_task,
				    futrace_hook_drop_future },
};

bool patch_is_run_hook(uint64_t word)
{
	return word == (uint64_t)futrace_hook_poll || word == (uint64_t)futrace_hook_poll_placed ||
	       word == (uint64_t)futrace_hook_run;
}

static bool patch_task_table(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct core_table *entry = core_table_find(key_of(t, base), true);
	const struct task_hooks *hooks = &task_hooks[t->kind];
	unsigned wakes = is_old(t) ? t->slot_abort : t->slot_schedule;

	if (!entry)
		return false;
	if (is_old(t))
		core_bar_zero();
	entry->poll = planned(t, t->slot_poll, base);
	if (wakes != WIRE_NO_SLOT)
		entry->schedule = planned(t, wakes, base);
	entry->dealloc = planned(t, t->slot_dealloc, base);
	entry->shutdown = planned(t, t->slot_shutdown, base);
	entry->id_off = t->id_off;
	entry->stage_off = t->stage_off;
	entry->trailer_off = t->trailer_off;
	entry->type_word = EVENT_WORD1(0, t->type);
	entry->scheduler_off = t->kind == WIRE_TABLE_TOKIO ? t->scheduler_off : 0;
	__atomic_store_n(&entry->addr, key_of(t, base), __ATOMIC_RELEASE);
	write_slot(words + t->slot_poll, wire_has_place(t) ? futrace_hook_poll_placed : hooks->run);
	if (wakes != WIRE_NO_SLOT)
		write_slot(words + wakes, is_old(t) ? futrace_hook_abort : hooks->schedule);
	write_slot(words + t->slot_shutdown, hooks->shutdown);
	return true;
}

static bool patch_waker_table(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	for (unsigned i = 0; i < CORE_MAX_WAKERS; i++) {
		struct core_waker *w = &core_wakers[i];

		if (w->addr && w->addr != (uint64_t)words)
			continue;
		w->addr = (uint64_t)words;
		w->wake = planned(t, t->slot_wake, base);
		w->wake_by_ref = planned(t, t->slot_wake_by_ref, base);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		write_slot(words + t->slot_wake, hook_wake[i]);
		write_slot(words + t->slot_wake_by_ref, hook_wake_by_ref[i]);
		return true;
	}
	return false;
}

static bool is_type_waker_hook(uint64_t word)
{
	return word - (uint64_t)hook_type_wakers < sizeof(hook_type_wakers);
}

static bool patch_type_waker_table(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	static uint32_t nr; /* objects are hooked one at a time */
	struct core_waker *w = &core_type_wakers[nr];
	const char *hooks = hook_type_wakers + 2 * nr * HOOK_THUNK_BYTES;

	if (nr == CORE_MAX_TYPE_WAKERS)
		return false;
	nr++;
	w->addr = (uint64_t)words;
	w->wake = planned(t, t->slot_wake, base);
	w->wake_by_ref = planned(t, t->slot_wake_by_ref, base);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	write_slot(words + t->slot_wake, hooks);
	write_slot(words + t->slot_wake_by_ref, hooks + HOOK_THUNK_BYTES);
	return true;
}

static bool patch_async_waker_table(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct async_waker *w = async_waker_find(words[0], true);

	if (!w || w->is_broken)
		return false;
	w->wake = planned(t, t->slot_wake, base);
	w->wake_by_ref = planned(t, t->slot_wake_by_ref, base);
	__atomic_store_n(&w->clone, words[0], __ATOMIC_RELEASE);
	write_slot(words + t->slot_wake, futrace_hook_wake);
	write_slot(words + t->slot_wake_by_ref, futrace_hook_wake_by_ref);
	return true;
}

static bool patch_root_waker_table(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct root_waker *w = root_waker_take((uint64_t)words);

	if (!w)
		return false;
	w->wake = (hook_fn)planned(t, t->slot_wake, base);
	w->wake_by_ref = (hook_fn)planned(t, t->slot_wake_by_ref, base);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	write_slot(words + t->slot_wake, w->wake_hook);
	write_slot(words + t->slot_wake_by_ref, w->wake_by_ref_hook);
	return true;
}

/* Its tasks would not be found by the hooks of their wakers. */
static void leave_wakers_alone(const struct wire_table *t, uint64_t base)
{
	uint64_t clone = planned(t, ASYNC_CLONE_WAKER, base);
	struct async_waker *w = async_waker_find(clone, true);

	if (w) {
		w->is_broken = true;
		w->clone = clone;
	}
}

/* The number of its type may be another in this recording. False: we never hooked it. */
static bool update_type(const struct wire_table *t, uint64_t base)
{
	struct core_table *entry = core_table_find(key_of(t, base), false);

	if (!entry || entry->poll != planned(t, t->slot_poll, base))
		return false;
	entry->type_word = EVENT_WORD1(0, t->type);
	return true;
}

/* Is the table hooked already, as after a second announcement of the same object? */
static bool is_hooked(const struct wire_table *t, const uint64_t *words, uint64_t base)
{
	if (t->kind == WIRE_TABLE_ASYNC_TASK_WAKER)
		return words[t->slot_wake] == (uint64_t)futrace_hook_wake;
	if (t->kind == WIRE_TABLE_TOKIO_TYPE_WAKER)
		return is_type_waker_hook(words[t->slot_wake]);
	if (t->kind == WIRE_TABLE_TOKIO_ROOT_WAKER)
		return root_waker_is_hook(words[t->slot_wake]);
	return wire_is_task_table(t->kind) && patch_is_run_hook(words[t->slot_poll]) &&
	       update_type(t, base);
}

static void note_cell_size(const struct wire_table *t)
{
	/* others tell of a spawn by themselves; tasks of old releases are not aligned */
	if (t->kind != WIRE_TABLE_TOKIO || is_old(t))
		return;
	/* A task is a Cell: trailer and all, rounded up to its alignment of 128. The trailer's size
	 * differs between versions (about 32 to 64 bytes): both neighbours are let in. */
	for (unsigned extra = 0; extra <= 1; extra++) {
		uint64_t unit = (t->trailer_off / 128 + 1 + extra) % 1024;

		core_page.cell_sizes[unit / 64] |= UINT64_C(1) << unit % 64;
	}
}

static bool patch(const struct patch_object *o, const struct wire_table *t, uint32_t *note)
{
	uint64_t *words = (uint64_t *)(o->base + t->va);
	bool done;

	if (!is_sane(t) || !is_inside(o, t))
		return false;
	if (is_hooked(t, words, o->base))
		return true;
	if (!agrees(t, words, o->base))
		return false;
	if (unprotect(o, t) < 0) {
		*note = WIRE_NOTE_PROTECT;
		return false;
	}
	if (wire_is_task_table(t->kind))
		done = patch_task_table(t, words, o->base);
	else if (t->kind == WIRE_TABLE_TOKIO_WAKER)
		done = patch_waker_table(t, words, o->base);
	else if (t->kind == WIRE_TABLE_TOKIO_TYPE_WAKER)
		done = patch_type_waker_table(t, words, o->base);
	else if (t->kind == WIRE_TABLE_TOKIO_ROOT_WAKER)
		done = patch_root_waker_table(t, words, o->base);
	else
		done = t->kind == WIRE_TABLE_ASYNC_TASK_WAKER &&
		       patch_async_waker_table(t, words, o->base);
	protect_again(o, t);
	return done;
}

void patch_tables(const struct patch_object *o, const struct wire_table *tables, uint64_t nr,
		  struct patch_result *result)
{
	for (const struct wire_table *t = tables; t < tables + nr; t++) {
		bool done = patch(o, t, &result->note);

		if (done && wire_is_task_table(t->kind)) {
			note_cell_size(t);
			result->hooked = (const uint64_t *)(o->base + t->va) + t->slot_poll;
		} else if (t->kind == WIRE_TABLE_ASYNC_TASK) {
			leave_wakers_alone(t, o->base);
		}
		result->nr_hooked += done;
		result->nr_refused += !done;
	}
}

void patch_tables_again(uint64_t base, const struct wire_table *tables, uint64_t nr,
			struct patch_result *result)
{
	for (const struct wire_table *t = tables; t < tables + nr; t++) {
		bool done = is_sane(t) && (!wire_is_task_table(t->kind) || update_type(t, base));

		if (done && wire_is_task_table(t->kind))
			note_cell_size(t);
		result->nr_hooked += done;
		result->nr_refused += !done;
	}
}
