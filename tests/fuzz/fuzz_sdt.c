// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Notes of USDT probes that are broken in any way. The input is an ELF file, or a section of notes
 * around which one is made, and the text of arguments, too. Reading ends without a crash or a wild
 * read, and what was read points into the file.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/sdt.h"
#include "symbol/sdt_args.h"

#define CODE	  0x1000
#define DATA	  0x2000
#define NOTES	  0x3000
#define NAMES	  "\0.note.stapsdt\0.stapsdt.base"
#define MAX_BYTES (64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_headers(struct strbuf *file, size_t notes_bytes)
{
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 2,
			  .e_shoff = 0x400,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 3,
			  .e_shstrndx = 0 };
	Elf64_Phdr segments[] = {
		{ PT_LOAD, PF_R | PF_X, CODE, CODE, 0, 0x1000, 0x1000, 0 },
		{ PT_LOAD, PF_R | PF_W, DATA, DATA, 0, 0x1000, 0x1000, 0 },
	};
	Elf64_Shdr sections[] = {
		{ .sh_type = SHT_STRTAB, .sh_offset = 0x800, .sh_size = sizeof(NAMES) },
		{ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = notes_bytes },
		{ .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = 0x900, .sh_size = 1 },
	};

	strbuf_grow(file, NOTES + notes_bytes);
	memset(file->s, 0, NOTES);
	memcpy(file->s, &eh, sizeof(eh));
	memcpy(file->s + sizeof(eh), segments, sizeof(segments));
	memcpy(file->s + eh.e_shoff, sections, sizeof(sections));
	memcpy(file->s + 0x800, NAMES, sizeof(NAMES));
	file->len = NOTES;
}

static void parse(const char *args)
{
	struct sdt_arg v[SDT_MAX_ARGS];
	size_t nr = sdt_args_parse(args, v, SDT_MAX_ARGS), len = strlen(args);
	char name[SDT_REG_NAME_SIZE];

	for (size_t i = 0; i < MIN(nr, (size_t)SDT_MAX_ARGS); i++) {
		if (v[i].text < args || v[i].text + v[i].text_len > args + len)
			__builtin_trap();
		if (v[i].symbol && (v[i].symbol < v[i].text ||
				    v[i].symbol + v[i].symbol_len > v[i].text + v[i].text_len))
			__builtin_trap();
		if (v[i].where == SDT_REGISTER && !*sdt_reg_name(&v[i].base, name))
			__builtin_trap();
		if (!*sdt_arg_type(&v[i]))
			__builtin_trap();
	}
}

/* Sites are at [first, end) of the file, and semaphores behind that. */
static void read_notes(const char *path, uint64_t first, uint64_t end, uint64_t size)
{
	struct image *img = image_open(path, "fuzz", NULL);
	struct sdt s;

	if (!img)
		return;
	sdt_init(&s, img);
	vec_each (site, &s.sites) {
		if (site->off < first || site->off >= end || site->semaphore_off >= size ||
		    (site->semaphore_off && site->semaphore_off < first))
			__builtin_trap();
		parse(site->args);
	}
	sdt_release(&s);
	image_close(img);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_file = size > SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
	struct strbuf file = STRBUF_INIT;
	int fd = memfd_create("fuzz_sdt", MFD_CLOEXEC);
	char path[64], *text;

	if (fd < 0 || (size > MAX_BYTES && !is_file)) {
		close(fd);
		return 0;
	}
	if (!is_file)
		add_headers(&file, size);
	strbuf_add(&file, data, size);
	if (io_write_all(fd, file.s, file.len) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (is_file)
		read_notes(path, 0, size, size);
	else
		read_notes(path, CODE, DATA, NOTES);
	text = xstrndup((const char *)data, MIN(size, (size_t)MAX_BYTES));
	parse(text);
	free(text);
	strbuf_release(&file);
	close(fd);
	return 0;
}
