// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The yardstick of `make bench`: the least that any tool could do at a poll of a Tokio task from
 * inside the process.  An LD_PRELOAD object that finds Tokio's task tables by their shape, puts its
 * own function into each table's poll slot, and there takes two timestamps and does two stores into
 * a ring of the thread.  Nobody reads the ring, it overwrites itself, nothing is counted: no task
 * id, no wake, no completion, no drain.  It is no tracer, it is the floor that one is measured
 * against.  With BAREHOOK_WAKES set it also stamps every call of the schedule slot, which is the
 * floor for a tool that records wakes too; with BAREHOOK_OUT=FILE it writes there how many tables
 * it hooked, so that a run which hooked nothing cannot pass for a cheap one.
 *
 * Words: a *table* is Tokio's static task Vtable (1.23 and later): seven code pointers, then the
 * offsets of trailer, scheduler and id.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_TABLES 4096
#define MAX_SPAN   (1 << 22) /* bytes between the lowest and the highest table */
#define RING_WORDS (1 << 16)
#define NR_CODE	   7

enum table_word {
	T_POLL = 0,
	T_SCHEDULE = 1,
	T_TRAILER = 7,
	T_SCHEDULER = 8,
	T_ID = 9,
	T_WORDS = 10
};

typedef void slot_fn(void *header);

struct header {
	uint64_t state;
	void *queue_next;
	uintptr_t table;
};

struct range {
	uintptr_t start, end;
};

struct finder {
	struct range code[16];
	int nr_code;
	uintptr_t tables[MAX_TABLES];
	int nr_tables;
};

static struct finder finder;
static uintptr_t lowest_table;
static slot_fn **original; /* by (table - lowest_table) / 8 + slot */

struct ring {
	uint64_t pos;
	uint64_t word[RING_WORDS];
};

/* Static TLS, so that reaching the ring is one instruction and never an allocation. */
static __thread struct ring ring __attribute__((tls_model("initial-exec")));

static inline uint64_t stamp(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

static inline void store(uint64_t v)
{
	uint64_t pos = ring.pos;

	*(volatile uint64_t *)&ring.word[pos % RING_WORDS] = v;
	ring.pos = pos + 1;
}

static void poll_hook(struct header *h)
{
	slot_fn *poll = original[(h->table - lowest_table) / 8 + T_POLL];

	store(stamp());
	poll(h);
	store(stamp());
}

static void schedule_hook(struct header *h)
{
	slot_fn *schedule = original[(h->table - lowest_table) / 8 + T_SCHEDULE];

	store(stamp());
	schedule(h);
}

static int is_code(const struct finder *f, uintptr_t addr)
{
	for (int i = 0; i < f->nr_code; i++)
		if (addr >= f->code[i].start && addr < f->code[i].end)
			return 1;
	return 0;
}

static int is_table(const struct finder *f, const uintptr_t *w)
{
	for (int i = 0; i < NR_CODE; i++)
		if (!is_code(f, w[i]))
			return 0;
	if ((w[T_TRAILER] | w[T_SCHEDULER] | w[T_ID]) % 8)
		return 0;
	return w[T_SCHEDULER] >= 24 && w[T_SCHEDULER] <= 4096 && w[T_ID] >= w[T_SCHEDULER] &&
	       w[T_ID] <= w[T_SCHEDULER] + 128 && w[T_ID] < w[T_TRAILER] && w[T_TRAILER] < 1u << 26;
}

static void scan(struct finder *f, uintptr_t start, uintptr_t end)
{
	const uintptr_t *w = (const uintptr_t *)((start + 7) & ~7ul);

	while ((uintptr_t)(w + T_WORDS) <= end && f->nr_tables < MAX_TABLES) {
		if (is_table(f, w)) {
			f->tables[f->nr_tables++] = (uintptr_t)w;
			w += T_WORDS;
		} else {
			w++;
		}
	}
}

/* The executable alone: the benchmark programs have their Tokio in it. */
static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct finder *f = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && f->nr_code < 16; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			f->code[f->nr_code++] = (struct range){ start, start + p->p_memsz };
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_W)
			scan(f, start, start + p->p_filesz);
	}
	return 1;
}

static int hook(uintptr_t table, int with_schedule)
{
	uintptr_t page = table & -(uintptr_t)sysconf(_SC_PAGESIZE);
	size_t len = table + 2 * sizeof(void *) - page;
	uintptr_t *word = (uintptr_t *)table;
	slot_fn **was = &original[(table - lowest_table) / 8];

	was[T_POLL] = (slot_fn *)word[T_POLL];
	was[T_SCHEDULE] = (slot_fn *)word[T_SCHEDULE];
	if (mprotect((void *)page, len, PROT_READ | PROT_WRITE))
		return -1;
	word[T_POLL] = (uintptr_t)poll_hook;
	if (with_schedule)
		word[T_SCHEDULE] = (uintptr_t)schedule_hook;
	return 0;
}

static void report(int nr_hooked)
{
	const char *path = getenv("BAREHOOK_OUT");
	FILE *out = path ? fopen(path, "w") : NULL;

	if (!out)
		return;
	fprintf(out, "%d\n", nr_hooked);
	fclose(out);
}

__attribute__((constructor)) static void start(void)
{
	uintptr_t span;
	int nr_hooked = 0;

	dl_iterate_phdr(visit, &finder);
	if (finder.nr_tables) {
		lowest_table = finder.tables[0];
		span = finder.tables[finder.nr_tables - 1] - lowest_table;
		original = span < MAX_SPAN ? calloc(span / 8 + 2, sizeof(*original)) : NULL;
		for (int i = 0; original && i < finder.nr_tables; i++)
			nr_hooked += !hook(finder.tables[i], !!getenv("BAREHOOK_WAKES"));
	}
	report(nr_hooked);
}
