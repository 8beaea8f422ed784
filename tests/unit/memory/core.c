// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a core file is read as far as it goes, and that nothing in it is believed. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/strbuf.h"
#include "fake.h"

#define PROGRAM	 UINT64_C(0x555555554000)
#define HEAP	 UINT64_C(0x7f0000000000)
#define HEAP_OFF 0x2000
#define HEAP_LEN 0x1000
#define NR_PHDRS 3

static void add_note(struct strbuf *notes, uint32_t type, const void *data, size_t len)
{
	static const char zero[4];
	Elf64_Nhdr n = { 5, len, type };

	strbuf_add(notes, &n, sizeof(n));
	strbuf_add(notes, "CORE\0\0\0", 8);
	strbuf_add(notes, data, len);
	strbuf_add(notes, zero, ROUND_UP(len, 4) - len);
}

static void add_notes(struct strbuf *notes)
{
	struct elf_prstatus status = { .pr_pid = 4712 };
	struct elf_prpsinfo info = { .pr_pid = 4711 };
	Elf64_auxv_t auxv[] = { { AT_PHDR, { PROGRAM + 64 } }, { AT_NULL, { 0 } } };
	uint64_t files[] = { 2, 4096, 0x1000, 0x2000, 0, PROGRAM, PROGRAM + 0x3000, 0 };
	struct strbuf table = STRBUF_INIT;

	status.pr_reg[19] = HEAP + 0x100;
	strbuf_add(&table, files, sizeof(files));
	strbuf_add(&table, "/lib/one\0/bin/prog", 19);
	add_note(notes, NT_PRSTATUS, &status, sizeof(status));
	add_note(notes, NT_PRPSINFO, &info, sizeof(info));
	add_note(notes, NT_AUXV, auxv, sizeof(auxv));
	add_note(notes, NT_FILE, table.s, table.len);
	strbuf_release(&table);
}

/* A file with notes, a segment of which nothing was dumped, and a heap full of its own addresses.
 */
static void make(struct strbuf *core)
{
	struct strbuf notes = STRBUF_INIT;
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = NR_PHDRS,
	};
	Elf64_Phdr ph[NR_PHDRS] = {
		{ .p_type = PT_NOTE, .p_offset = 0x400 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = PROGRAM,
		  .p_memsz = 0x3000 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_vaddr = HEAP,
		  .p_offset = HEAP_OFF,
		  .p_filesz = HEAP_LEN,
		  .p_memsz = HEAP_LEN },
	};

	add_notes(&notes);
	ph[0].p_filesz = notes.len;
	strbuf_reset(core);
	strbuf_add(core, &eh, sizeof(eh));
	strbuf_add(core, ph, sizeof(ph));
	while (core->len < 0x400)
		strbuf_addch(core, 0);
	strbuf_add(core, notes.s, notes.len);
	while (core->len < HEAP_OFF)
		strbuf_addch(core, 0);
	for (uint64_t addr = HEAP; addr < HEAP + HEAP_LEN; addr += 8)
		strbuf_add(core, &addr, 8);
	strbuf_release(&notes);
}

static struct memory *open_bytes(const void *bytes, size_t len, struct err *e)
{
	char path[] = "/tmp/futrace-core-XXXXXX";
	int fd = mkstemp(path);
	struct memory *m;

	assert_return_code(fd, 0);
	assert_return_code(io_write_all(fd, bytes, len), 0);
	close(fd);
	m = memory_open_core(path, NULL, e);
	unlink(path);
	return m;
}

static void test_whole(void **state)
{
	struct strbuf core = STRBUF_INIT;
	struct memory *m;
	uint64_t word;

	make(&core);
	m = open_bytes(core.s, core.len, NULL);
	assert_non_null(m);
	assert_string_equal(m->exe, "/bin/prog");
	assert_int_equal(m->pid, 4711);
	assert_int_equal(m->threads.nr, 1);
	assert_int_equal(m->threads.v[0].tid, 4712);
	assert_true(memory_area(m, HEAP)->is_stack);
	assert_int_equal(m->files.nr, 2);
	assert_true(memory_read(m, HEAP + 0x80, &word, 8) && word == HEAP + 0x80);
	assert_true(memory_read(m, HEAP + HEAP_LEN - 8, &word, 8));
	assert_false(memory_read(m, HEAP + HEAP_LEN - 4, &word, 8));
	assert_false(memory_read(m, PROGRAM, &word, 8)); /* was not dumped */
	assert_int_equal(m->nr_missing_bytes, 0);
	assert_true(memory_is_there(m));
	memory_close(m);
	strbuf_release(&core);
}

/* Whatever is cut off, it opens with what is left, or says why not. */
static void test_cut(void **state)
{
	struct strbuf core = STRBUF_INIT;
	unsigned nr_opened = 0;

	make(&core);
	for (size_t len = 0; len < core.len; len += 37) {
		struct err e = ERR_INIT;
		struct memory *m = open_bytes(core.s, len, &e);
		uint64_t word, held = len > HEAP_OFF ? len - HEAP_OFF : 0;

		assert_int_equal(m == NULL, e.tag != ERR_NONE);
		if (!m)
			continue;
		assert_int_equal(m->nr_missing_bytes, HEAP_LEN - held);
		assert_int_equal(memory_read(m, HEAP, &word, 8), held >= 8);
		memory_close(m);
		nr_opened++;
	}
	assert_true(nr_opened > HEAP_LEN / 37 - 2);
	strbuf_release(&core);
}

/* Any byte of its headers and notes may be anything. */
static void test_hostile(void **state)
{
	uint64_t seed = 88172645463325252, word;
	struct strbuf core = STRBUF_INIT;

	make(&core);
	for (unsigned i = 0; i < 3000; i++) {
		size_t at = unit_random(&seed) % 0xc00, len = 1 + unit_random(&seed) % 8;
		struct memory *m;

		make(&core);
		for (size_t k = 0; k < len; k++)
			core.s[at + k] = unit_random(&seed) % 3 ? 0xff : unit_random(&seed);
		m = open_bytes(core.s, core.len, NULL);
		if (m)
			memory_read(m, HEAP, &word, 8);
		memory_close(m);
	}
	strbuf_release(&core);
}

static void test_others(void **state)
{
	struct err e = ERR_INIT;
	char path[32];
	int fds[2];

	assert_return_code(pipe(fds), errno);
	close(fds[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_null(memory_open_core(path, NULL, &e)); /* nobody writes: nothing to wait for */
	assert_int_equal(e.tag, ERR_NOT_ELF);
	close(fds[0]);
	assert_null(memory_open_core("/proc/self/exe", NULL, &e));
	assert_int_equal(e.tag, ERR_NOT_ELF);
	assert_null(memory_open_core("/etc/passwd", NULL, &e));
	assert_int_equal(e.tag, ERR_NOT_ELF);
	assert_null(memory_open_core("/no/such/file", NULL, &e));
	assert_int_equal(e.tag, ERR_SYS);
}

/* The program is where somebody says that it is; libraries are where they were. */
static void test_exe_file(void **state)
{
	struct strbuf core = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct memory *m;
	char *path;

	make(&core);
	m = open_bytes(core.s, core.len, NULL);
	assert_null(memory_path_of(m, &m->files.v[1], &e));
	assert_non_null(strstr(e.msg, "--exe"));
	m->exe_file = xstrdup("/proc/self/exe");
	path = memory_path_of(m, &m->files.v[1], &e);
	assert_string_equal(path, "/proc/self/exe");
	free(path);
	e.msg[0] = '\0';
	assert_null(memory_path_of(m, &m->files.v[0], &e));
	assert_null(strstr(e.msg, "--exe"));
	memory_close(m);
	strbuf_release(&core);
}

struct loaded {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	Elf64_Nhdr note;
	char name[4];
	uint8_t build_id[20];
};

/* Linked to 0x10000 and loaded to PROGRAM, with a build-id behind a note that cannot be there. */
static struct loaded *put_loaded(struct fake *f)
{
	struct loaded *l = (struct loaded *)fake_add(f, PROGRAM, 0x1000);

	*l = (struct loaded){
		.eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3 },
			.e_phoff = offsetof(struct loaded, ph),
			.e_phentsize = sizeof(*l->ph),
			.e_phnum = ARRAY_SIZE(l->ph) },
		.ph = { { .p_type = PT_NOTE, .p_vaddr = 0x10000, .p_filesz = UINT64_MAX },
			{ .p_type = PT_LOAD, .p_vaddr = 0x10000 },
			{ .p_type = PT_NOTE,
			  .p_vaddr = 0x10000 + offsetof(struct loaded, note),
			  .p_filesz = sizeof(*l) - offsetof(struct loaded, note) } },
		.note = { 4, sizeof(l->build_id), NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	for (unsigned i = 0; i < sizeof(l->build_id); i++)
		l->build_id[i] = 0xa0 + i;
	memory_settle(&f->m);
	return l;
}

/* The build-id is what the headers in memory lead to; what leads to nowhere is not known. */
static void test_build_id(void **state)
{
	struct fake *f = fake_new();
	struct loaded *l = put_loaded(f);
	char id[MEMORY_BUILD_ID_SIZE];

	assert_true(memory_build_id(&f->m, PROGRAM, id));
	assert_string_equal(id, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
	l->note.n_type++;
	assert_true(memory_build_id(&f->m, PROGRAM, id));
	assert_string_equal(id, "");
	l->note.n_type--;
	l->note.n_descsz = UINT32_MAX;
	assert_true(memory_build_id(&f->m, PROGRAM, id));
	assert_string_equal(id, "");
	l->ph[2].p_vaddr += 0x1000; /* in a page that is not in the core file */
	assert_false(memory_build_id(&f->m, PROGRAM, id));
	l->eh.e_phoff = UINT64_MAX;
	assert_false(memory_build_id(&f->m, PROGRAM, id));
	assert_false(memory_build_id(&f->m, HEAP, id));
	memory_close(&f->m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	 cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hostile),	 cmocka_unit_test(test_others),
		cmocka_unit_test(test_exe_file), cmocka_unit_test(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
