// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves, on ELF files made here byte by byte, that a task table is found by shape through RELA,
 * RELR and plain words, that what only resembles one is not, and that files with broken headers or
 * cuts anywhere are refused or read without harm.
 */
#include <elf.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "runtime/discover.h"

enum {
	CODE = 0x1000,
	DATA = 0x2000,
	DYN = 0x3000,
	RELOCS = 0x3400,
	STRINGS = 0x800,
	SIZE = 0x4000
};
enum how { PLAIN, RELA, RELR };

static char path[64];
static uint8_t file[SIZE];

static void put(uint64_t off, uint64_t word)
{
	memcpy(file + off, &word, 8);
}

static void put_segment(int i, uint32_t type, uint32_t flags, uint64_t off, uint64_t len)
{
	Elf64_Phdr ph = { .p_type = type,
			  .p_flags = flags,
			  .p_offset = off,
			  .p_vaddr = off,
			  .p_filesz = len,
			  .p_memsz = len };

	memcpy(file + sizeof(Elf64_Ehdr) + i * sizeof(ph), &ph, sizeof(ph));
}

/* Seven addresses and three offsets at DATA + 16 * 8, with something else around them. */
static void put_table(const uint64_t *offsets)
{
	for (int i = 0; i < 7; i++)
		put(DATA + 128 + 8 * i, CODE + 16 * i);
	for (int i = 0; i < 3; i++)
		put(DATA + 128 + 56 + 8 * i, offsets[i]);
}

static void put_dynamic(const uint64_t (*entries)[2], int nr)
{
	for (int i = 0; i < nr; i++) {
		put(DYN + 16 * i, entries[i][0]);
		put(DYN + 16 * i + 8, entries[i][1]);
	}
}

static void put_relocs(enum how how, int nr_pointers)
{
	if (how == RELA) {
		const uint64_t dyn[][2] = { { DT_RELA, RELOCS },
					    { DT_RELASZ, 24 * nr_pointers },
					    { DT_FLAGS_1, DF_1_PIE } };

		put_dynamic(dyn, 3);
		for (int i = 0; i < nr_pointers; i++) {
			put(RELOCS + 24 * i, DATA + 128 + 8 * i);
			put(RELOCS + 24 * i + 8, R_X86_64_RELATIVE);
			put(RELOCS + 24 * i + 16, CODE + 16 * i);
			put(DATA + 128 + 8 * i, 0xdead); /* RELA does not care for what is there */
		}
	} else if (how == RELR) {
		const uint64_t dyn[][2] = { { DT_RELR, RELOCS }, { DT_RELRSZ, 16 } };

		put_dynamic(dyn, 2);
		put(RELOCS, DATA + 128);
		put(RELOCS + 8, ((UINT64_C(1) << (nr_pointers - 1)) - 1) << 1 | 1);
	}
}

static void make(enum how how, const uint64_t *offsets, int nr_pointers)
{
	Elf64_Ehdr eh = { .e_type = how == PLAIN ? ET_EXEC : ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 4 };

	memset(file, 0, sizeof(file));
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(file, &eh, sizeof(eh));
	put_segment(0, PT_LOAD, PF_R, 0, 0x1000);
	put_segment(1, PT_LOAD, PF_R | PF_X, CODE, 0x1000);
	put_segment(2, PT_LOAD, PF_R | PF_W, DATA, 0x2000);
	put_segment(3, PT_DYNAMIC, PF_R, DYN, 0x100);
	strcpy((char *)file + STRINGS, "/x/tokio-util-1.2.3/src/ /x/tokio-1.41.7/src/a.rs");
	put_table(offsets);
	put_relocs(how, nr_pointers);
}

static struct discovery *look(size_t len, struct err *e)
{
	struct discover_opts opts = { .names = true };

	io_replace_file(path, file, len, 0600, NULL);
	return discover_file(path, "shown", &opts, e);
}

/* How many tables are found; -1 when the file is refused. */
static int count(size_t len)
{
	struct err e = ERR_INIT;
	struct discovery *d = look(len, &e);
	int nr = d ? (int)d->nr_tables : -1;

	discovery_free(d);
	return nr;
}

static const uint64_t good[] = { 200, 32, 40 }, blocking[] = { 200, 32, 48 };

static void test_found(void)
{
	for (enum how how = PLAIN; how <= RELR; how++) {
		struct err e = ERR_INIT;
		struct discovery *d;

		make(how, good, 7);
		d = look(SIZE, &e);
		check_num(d != NULL, 1);
		if (!d)
			continue;
		check_num(d->nr_tables, 1);
		check_num(d->nr_runtimes, 1);
		check_str(d->path, "shown");
		check_str(d->runtimes[0].version, "1.41.7");
		check_num(d->link, how == PLAIN	 ? ELF_STATIC
				   : how == RELA ? ELF_STATIC_PIE
						 : ELF_SHARED_OBJECT);
		check_num(d->tables[0].plan.va, DATA + 128);
		check_num(d->tables[0].plan.nr_words, 10);
		check_num(d->tables[0].plan.code_mask, 0x7f);
		check_num(d->tables[0].plan.words[6], CODE + 96);
		check_num(d->tables[0].plan.id_off, 40);
		check_num(d->tables[0].plan.stage_off, 48);
		check_num(d->tables[0].plan.trailer_off, 200);
		check_num(d->tables[0].kind, TRACE_TASK);
		discovery_free(d);
		make(how, blocking, 7);
		d = look(SIZE, &e);
		check_num(d->tables[0].kind, TRACE_BLOCKING);
		check_str(d->tables[0].scheduler, "blocking");
		discovery_free(d);
	}
}

static void test_unstable(void)
{
	struct err e = ERR_INIT;
	struct discovery *d;

	make(RELA, good, 7);
	put(DATA + 128 + 80, 48); /* id_offset + 8: where the spawn location is */
	d = look(SIZE, &e);
	check_num(d->runtimes[0].unstable, true);
	check_num(d->tables[0].plan.nr_words, 11);
	check_num(d->tables[0].plan.stage_off, 56);
	discovery_free(d);
}

static void test_near_misses(void)
{
	static const uint64_t wrong[][3] = {
		{ 201, 32, 40 },     /* no multiple of 8 */
		{ 200, 16, 40 },     /* the header is larger than that */
		{ 200, 32, 24 },     /* id before scheduler */
		{ 40, 32, 40 },	     /* nothing between id and trailer */
		{ 200, 32, 240 },    /* trailer before id */
		{ 1 << 27, 32, 40 }, /* absurdly large */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		make(RELA, wrong[i], 7);
		check_num(count(SIZE), 0);
	}
	for (enum how how = RELA; how <= RELR; how++) {
		make(how, good, 6); /* the seventh is a number, not an address */
		check_num(count(SIZE), 0);
		make(how, good, 8); /* the first offset is an address */
		check_num(count(SIZE), 0);
	}
	for (int i = 0; i < 7; i++) {
		make(PLAIN, good, 7);
		put(DATA + 128 + 8 * i, DATA); /* not code */
		check_num(count(SIZE), 0);
	}
}

static void test_refused(void)
{
	struct err e = ERR_INIT;

	make(RELA, good, 7);
	file[0] = 'x';
	check_num(look(SIZE, &e) == NULL, 1);
	check_num(e.tag, ERR_NOT_ELF);
	make(RELA, good, 7);
	file[EI_CLASS] = ELFCLASS32;
	check_num(look(SIZE, &e) == NULL, 1);
	check_num(e.tag, ERR_FOREIGN);
	make(RELA, good, 7);
	file[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
	check_num(look(SIZE, &e) == NULL, 1);
	check_num(e.tag, ERR_FOREIGN);
	make(RELA, good, 7);
	file[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
	check_num(look(SIZE, &e) == NULL, 1);
	check_num(e.tag, ERR_BAD_ELF);
	make(RELA, good, 7);
	check_num(look(sizeof(Elf64_Ehdr) - 1, &e) == NULL, 1);
	check_num(e.tag, ERR_BAD_ELF);
	check_num(look(0, &e) == NULL, 1);
	check_num(e.tag, ERR_NOT_ELF);
	check_num(discover_file("/", NULL, &(struct discover_opts){ 0 }, &e) == NULL, 1);
	check_num(e.tag, ERR_NOT_ELF);
	check_num(discover_file("/nonexistent", NULL, &(struct discover_opts){ 0 }, &e) == NULL, 1);
	check_num(e.tag, ERR_SYS);
}

static void test_damage(void)
{
	uint64_t seed = 12345;

	for (size_t len = 1; len < SIZE; len += 253) {
		make(RELA, good, 7);
		check_num(count(len) <= 0, 1); /* the relocations are at the end */
	}
	for (int i = 0; i < 600; i++) {
		make(i % 3, good, 7);
		for (int k = 0; k < 4; k++) {
			static const struct {
				unsigned at, len;
			} parts[] = {
				{ 0, 0x200 }, { DATA + 128, 96 }, { DYN, 64 }, { RELOCS, 200 }
			};

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			file[parts[seed >> 60 & 3].at + (seed >> 33) % parts[seed >> 60 & 3].len] ^=
				seed >> 24;
		}
		check_num(count(SIZE) <= 2, 1);
	}
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/futrace-image-test-%d", (int)getpid());
	test_found();
	test_unstable();
	test_near_misses();
	test_refused();
	test_damage();
	unlink(path);
	return check_result();
}
