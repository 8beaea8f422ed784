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
static const uint64_t somebody[PROBE_WORDS] = { 1, 0, 1, 0 };
const uint64_t *probes_perf_semaphores = nobody;
const uint64_t *probes_watched = nobody;

#define PROBE(NAME, provider, c_name, name, args) \
	[PROBE_##NAME] = PROBES_OURS_##provider((const void *)probes_##provider##_##c_name),
const void *const probes_sites[NR_PROBES] = {
#include "wire/probes.def"
};
#undef PROBE

void probes_init(void)
{
	if (&futrace_probes && futrace_probes.nr == NR_PROBES)
		probes_perf_semaphores = futrace_probes.semaphores;
	probes_watched = probes_perf_semaphores;
}

static bool is_attached(const volatile uint64_t *semaphores)
{
	return semaphores[0] | semaphores[1] | semaphores[2] | semaphores[3];
}
_Static_assert(PROBE_WORDS == 4, "is_attached looks at so many");

void probes_look(void)
{
	if (!is_attached(probes_semaphores) && !is_attached(probes_perf_semaphores))
		__atomic_store_n(&probes_watched, probes_perf_semaphores, __ATOMIC_SEQ_CST);
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

#define BEING_MADE UINT64_MAX /* the key meanwhile */

static bool is_of(const struct memo *memo, uint64_t era)
{
	return __atomic_load_n(&memo->era, __ATOMIC_RELAXED) == era;
}

static struct memo *find(struct memos *m, uint64_t key, uint64_t era)
{
	struct memo *bucket = bucket_of(m, key);

	for (unsigned i = 0; i < MEMO_WAYS; i++)
		if (__atomic_load_n(&bucket[i].key, __ATOMIC_ACQUIRE) == key &&
		    is_of(&bucket[i], era))
			return &bucket[i];
	return NULL;
}

struct memo *memo_find(struct memos *m, uint64_t key)
{
	return find(m, key, __atomic_load_n(&m->era, __ATOMIC_SEQ_CST));
}

/* One that is free or forgotten is ours to make. */
static bool take_room(struct memo *memo, uint64_t era)
{
	uint64_t key = __atomic_load_n(&memo->key, __ATOMIC_ACQUIRE);

	return key != BEING_MADE && (!key || !is_of(memo, era)) &&
	       __atomic_compare_exchange_n(&memo->key, &key, BEING_MADE, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static struct memo *make(struct memos *m, uint64_t key, uint64_t era)
{
	struct memo *bucket = bucket_of(m, key), *memo = &bucket[key % MEMO_WAYS];

	for (unsigned i = 0; i < MEMO_WAYS; i++)
		if (take_room(&bucket[i], era)) {
			memo = &bucket[i];
			break;
		}
	__atomic_store_n(&memo->word, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&memo->era, era, __ATOMIC_RELAXED);
	__atomic_store_n(&memo->key, key, __ATOMIC_RELEASE);
	return memo;
}

/* The order of stores here is that of memos_forget and probes_look turned round: whatever an era's
 * end does not reach is of that era, or is seen by the next hook. */
struct memo *memo_make(struct memos *m, uint64_t key)
{
	uint64_t era = __atomic_load_n(&m->era, __ATOMIC_SEQ_CST);
	struct memo *memo = find(m, key, era);

	if (!memo)
		memo = make(m, key, era);
	if (!__atomic_load_n(&m->is_used, __ATOMIC_SEQ_CST))
		__atomic_store_n(&m->is_used, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&probes_watched, __ATOMIC_SEQ_CST) != somebody)
		__atomic_store_n(&probes_watched, somebody, __ATOMIC_SEQ_CST);
	return memo;
}

void memos_forget(struct memos *m)
{
	if (!__atomic_load_n(&m->is_used, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&m->is_used, false, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&m->era, 1, __ATOMIC_SEQ_CST);
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
