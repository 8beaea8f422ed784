// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the probes of all runtimes have in common: who is attached, what tasks are called, and a
 * memory for what must be known of a task later.
 */
#include "agent/probes_priv.h"

#include <string.h>

#include "agent/agent.h"

/* ---- the two objects ---- */

static const uint64_t nobody[PROBE_WORDS];
const uint64_t *probes_perf_semaphores = nobody;

/* A probe that this object has not is never wanted by its semaphores, and has no site. */
#define HAS_tokio(site)	    site
#define HAS_async_std(site) 0
#define PROBE(NAME, provider, c_name, name, args) \
	[PROBE_##NAME] = HAS_##provider((const void *)probes_##provider##_##c_name),
const void *const probes_sites[NR_PROBES] = {
#include "wire/probes.def"
};
#undef PROBE

void probes_init(void)
{
	if (&futrace_probes && futrace_probes.nr == NR_PROBES)
		probes_perf_semaphores = futrace_probes.semaphores;
}

/* ---- what tasks are called ---- */

static struct label {
	const char *type, *file;
	uint32_t type_bytes, file_bytes;
	uint32_t line;
	uint32_t kind;	    /* enum wire_task_kind */
} labels[CORE_MAX_ENTRIES]; /* as core_tables */

static const char *string_at(uint32_t off, uint32_t *bytes)
{
	const char *s = core_page.region->strings;

	/* the tool ends each of them; what it writes later is not looked at */
	s += off < WIRE_STRING_BYTES ? off : 0;
	*bytes = strnlen(s, core_page.region->strings + WIRE_STRING_BYTES - 1 - s);
	return s;
}

void probes_set_type(const struct core_table *table, const struct wire_table *plan)
{
	struct label *l = &labels[table - core_tables];

	l->type = string_at(plan->name, &l->type_bytes);
	l->file = string_at(plan->file, &l->file_bytes);
	l->line = plan->line;
	l->kind = plan->task_kind;
}

enum wire_task_kind probes_kind_of(const struct core_table *table)
{
	return labels[table - core_tables].kind;
}

/* Brings the string into memory. It is shorter than a page. */
static void touch(const char *s, uint32_t bytes)
{
	(void)*(const volatile char *)s;
	(void)*(const volatile char *)(s + bytes);
}

/* ---- places that the runtime keeps ---- */

/* core::panic::Location, as every compiler since 1.63 has laid it out. */
struct location {
	const char *file;
	uint64_t file_bytes;
	uint32_t line, column;
};

/*
 * Rust's strings do not end with NUL, so each file's name is copied once. A name is found by where
 * the original lies, and compared with it: a library may have come to the place of another.
 */
#define NR_FILES       4096
#define FILE_TRIES     16
#define FILE_MAX_BYTES 1024

static struct file_name {
	uint64_t state; /* 0: free, 1: being filled in, 2: there */
	const char *original;
	uint64_t bytes;
	const char *copy;
} files[NR_FILES];
static char file_text[1 << 20];
static uint64_t file_text_used;

static bool fill_in(struct file_name *f, const char *text, uint64_t bytes)
{
	uint64_t at = __atomic_fetch_add(&file_text_used, bytes + 1, __ATOMIC_RELAXED);
	bool has_room = at + bytes + 1 <= sizeof(file_text);

	if (has_room) {
		f->copy = file_text + at;
		memcpy(file_text + at, text, bytes);
	}
	f->original = text;
	f->bytes = has_room ? bytes : 0;
	__atomic_store_n(&f->state, 2, __ATOMIC_RELEASE);
	return has_room;
}

/* NULL: there is no room, or another thread is about to put it there. */
static const char *copy_of(const char *text, uint64_t bytes)
{
	uint64_t i = ((uint64_t)text + bytes) * UINT64_C(0x9e3779b97f4a7c15) >> 52;

	for (unsigned tries = 0; tries < FILE_TRIES; tries++, i++) {
		struct file_name *f = &files[i % NR_FILES];
		uint64_t state = __atomic_load_n(&f->state, __ATOMIC_ACQUIRE);

		if (state == 2 && f->original == text && f->bytes == bytes &&
		    memcmp(f->copy, text, bytes) == 0)
			return f->copy;
		if (state == 0 && __atomic_compare_exchange_n(&f->state, &state, 1, false,
							      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return fill_in(f, text, bytes) ? f->copy : NULL;
	}
	return NULL;
}

/* Of a task that has one: see patch_tokio.c. */
static bool find_place(uint64_t header, const struct core_table *table, struct probes_name *n)
{
	const struct location *l;
	const char *file;

	if (!table->id_off || table->stage_off != table->id_off + 16)
		return false;
	l = (const struct location *)load(header + table->id_off + 8);
	if (!stack_is_object((uint64_t)l) || !stack_is_object((uint64_t)l->file) ||
	    l->file_bytes >= FILE_MAX_BYTES)
		return false;
	file = copy_of(l->file, l->file_bytes);
	if (!file)
		return false;
	n->file = file;
	n->line = l->line;
	n->column = l->column;
	return true;
}

struct probes_name probes_name_of(uint64_t header, const struct core_table *table)
{
	const struct label *l = &labels[table - core_tables];
	struct probes_name n = { l->type, l->file, l->line, 0 };

	touch(l->type, l->type_bytes);
	if (!find_place(header, table, &n))
		touch(l->file, l->file_bytes);
	return n;
}

/* ---- what is remembered ---- */

static struct memo *bucket_of(struct memos *m, uint64_t key)
{
	return m->v[key * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}
_Static_assert(MEMO_BUCKETS == 1 << 14, "bucket_of takes the upper 14 bits");

struct memo *memo_find(struct memos *m, uint64_t key)
{
	struct memo *bucket = bucket_of(m, key);

	for (unsigned i = 0; i < MEMO_WAYS; i++)
		if (__atomic_load_n(&bucket[i].key, __ATOMIC_ACQUIRE) == key)
			return &bucket[i];
	return NULL;
}

struct memo *memo_make(struct memos *m, uint64_t key)
{
	struct memo *bucket = bucket_of(m, key), *found = memo_find(m, key);

	for (unsigned i = 0; !found && i < MEMO_WAYS; i++) {
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&bucket[i].key, &free, key, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			found = &bucket[i];
	}
	if (found)
		return found;
	found = &bucket[key % MEMO_WAYS];
	__atomic_store_n(&found->word, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found->key, key, __ATOMIC_RELEASE);
	return found;
}

bool memo_take(struct memos *m, uint64_t key, uint64_t *word)
{
	struct memo *found = memo_find(m, key);

	if (!found)
		return false;
	*word = __atomic_exchange_n(&found->word, 0, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(&found->key, &key, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}
