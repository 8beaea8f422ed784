// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Hooks static tables. Every word of a table is compared with the plan before anything is written;
 * a table that differs is refused. Tables lie in RELRO pages: these are made writable for the
 * moment, and read-only again.
 */
#include "agent/patch.h"
#include "agent/path.h"

#include <sys/mman.h>

#define PAGE_MASK     (~(uint64_t)(WIRE_PAGE - 1))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct table_kind *const kinds[] = {
	[WIRE_TABLE_TOKIO] = &table_tokio,
	[WIRE_TABLE_TOKIO_WAKER] = &table_tokio_waker,
	[WIRE_TABLE_ASYNC_TASK] = &table_async_task,
	[WIRE_TABLE_ASYNC_TASK_WAKER] = &table_async_task_waker,
	[WIRE_TABLE_TOKIO_TYPE_WAKER] = &table_tokio_type_waker,
	[WIRE_TABLE_TOKIO_ROOT_WAKER] = &table_tokio_root_waker,
	[WIRE_TABLE_FUTURE] = &table_future,
	[WIRE_TABLE_MARKS] = &table_marks,
};

/* NULL: the plan asks for something that we do not know, or cannot be right. */
static const struct table_kind *kind_of(const struct wire_table *t)
{
	const struct table_kind *kind = t->kind < ARRAY_SIZE(kinds) ? kinds[t->kind] : NULL;

	if (t->nr_words > WIRE_TABLE_WORDS || t->va % 8 || t->id_off > UINT16_MAX ||
	    t->stage_off > UINT16_MAX || !kind || !kind->is_sane(t))
		return NULL;
	return kind;
}

static bool agrees(const struct wire_table *t, const uint64_t *words, uint64_t base)
{
	for (unsigned i = 0; i < t->nr_words; i++)
		if (words[i] != patch_planned(t, i, base))
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

static bool is_run_hook_of(const struct table_kind *kind, uint64_t word)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kind->run_hooks); i++)
		if (kind->run_hooks[i] && word == (uint64_t)kind->run_hooks[i])
			return true;
	return false;
}

bool patch_is_run_hook(uint64_t word)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i] && is_run_hook_of(kinds[i], word))
			return true;
	return false;
}

/* Under which its entry is found. */
static uint64_t key_of(const struct wire_table *t, uint64_t base)
{
	const struct table_kind *kind = kinds[t->kind];

	return base + t->va + (kind->mark ? kind->mark(t) : 0);
}

struct core_table *patch_entry(const struct wire_table *t, uint64_t base)
{
	struct core_table *entry = core_table_find(key_of(t, base), true);

	if (!entry)
		return NULL;
	entry->poll = patch_planned(t, t->slot_poll, base);
	entry->dealloc = patch_planned(t, t->slot_dealloc, base);
	entry->shutdown = patch_planned(t, t->slot_shutdown, base);
	entry->id_off = t->id_off;
	entry->stage_off = t->stage_off;
	entry->trailer_off = t->trailer_off;
	entry->type_word = EVENT_WORD1(0, t->type);
	entry->recipe = path_add(core_page.region, t->recipe, 0);
	probes_set_type(entry, t);
	return entry;
}

void patch_publish(struct core_table *entry, const struct wire_table *t, uint64_t base)
{
	__atomic_store_n(&entry->addr, key_of(t, base), __ATOMIC_RELEASE);
}

/* The number of its type may be another in this recording. False: we never hooked it. */
static bool update_type(const struct wire_table *t, uint64_t base)
{
	struct core_table *entry = core_table_find(key_of(t, base), false);

	if (!entry || entry->poll != patch_planned(t, t->slot_poll, base))
		return false;
	entry->type_word = EVENT_WORD1(0, t->type);
	entry->recipe = path_add(core_page.region, t->recipe, entry->recipe);
	probes_set_type(entry, t);
	return true;
}

/* Is the table hooked already, as after a second announcement of the same object? */
static bool is_hooked(const struct table_kind *kind, const struct wire_table *t,
		      const uint64_t *words, uint64_t base)
{
	if (wire_is_task_table(t->kind))
		return is_run_hook_of(kind, words[t->slot_poll]) && update_type(t, base);
	return kind->is_hooked && kind->is_hooked(t, words);
}

static bool patch(const struct patch_object *o, const struct wire_table *t, uint32_t *note)
{
	uint64_t *words = (uint64_t *)(o->base + t->va);
	const struct table_kind *kind = kind_of(t);
	bool done;

	if (!kind || !is_inside(o, t))
		return false;
	if (is_hooked(kind, t, words, o->base))
		return true;
	if (!agrees(t, words, o->base))
		return false;
	if (unprotect(o, t) < 0) {
		*note = WIRE_NOTE_PROTECT;
		return false;
	}
	done = kind->hook(t, words, o->base);
	protect_again(o, t);
	return done;
}

void patch_tables(const struct patch_object *o, const struct wire_table *tables, uint64_t nr,
		  struct patch_result *result)
{
	for (const struct wire_table *t = tables; t < tables + nr; t++) {
		bool done = patch(o, t, &result->note);
		const struct table_kind *kind = t->kind < ARRAY_SIZE(kinds) ? kinds[t->kind] : NULL;

		if (done && kind->hooked)
			kind->hooked(t);
		else if (!done && kind && kind->refused)
			kind->refused(t, o->base);
		if (done && wire_is_task_table(t->kind))
			result->hooked = (const uint64_t *)(o->base + t->va) + t->slot_poll;
		result->nr_hooked += done;
		result->nr_refused += !done;
	}
}

void patch_tables_again(uint64_t base, const struct wire_table *tables, uint64_t nr,
			struct patch_result *result)
{
	for (const struct wire_table *t = tables; t < tables + nr; t++) {
		const struct table_kind *kind = kind_of(t);
		bool done = kind && (!wire_is_task_table(t->kind) || update_type(t, base));

		if (done && kind->hooked)
			kind->hooked(t);
		result->nr_hooked += done;
		result->nr_refused += !done;
	}
}
