// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves, on notes put together here, that every kind of operand is read as the assembler means it
 * or is called unknown, that sites and semaphores are found where a file was moved, has base 0 or
 * one semaphore a site, and that notes that are cut or point nowhere are counted and passed over.
 */
#include <elf.h>
#include <unistd.h>

#include "base/io.h"
#include "base/strbuf.h"
#include "check.h"
#include "symbol/sdt.h"
#include "symbol/sdt_args.h"
#include "symbol/symtab.h"

/* ---- operands ---- */

/* One line for each argument: "type where segment:value+symbol(base,index,scale)". */
static void describe(const char *args, struct strbuf *out)
{
	struct sdt_arg v[SDT_MAX_ARGS];
	size_t nr = sdt_args_parse(args, v, SDT_MAX_ARGS);

	strbuf_reset(out);
	for (size_t i = 0; i < MIN(nr, (size_t)SDT_MAX_ARGS); i++) {
		char base[SDT_REG_NAME_SIZE], index[SDT_REG_NAME_SIZE];
		const struct sdt_arg *a = &v[i];

		strbuf_addf(out, "%s%s %s", i ? "; " : "", sdt_arg_type(a),
			    sdt_where_name(a->where));
		if (a->where == SDT_UNKNOWN)
			continue;
		strbuf_addf(out, " %.*s%s%lld%s%.*s", a->segment ? 1 : 0, &a->segment,
			    a->segment ? ":" : "", (long long)a->value, a->symbol ? "+" : "",
			    (int)a->symbol_len, a->symbol ? a->symbol : "");
		if (a->base.kind || a->index.kind)
			strbuf_addf(out, "(%s,%s,%u)", sdt_reg_name(&a->base, base),
				    sdt_reg_name(&a->index, index), a->scale);
	}
}

/* What a note says, and what is to be understood. */
static const char *const operands[][2] = {
	{ "", "" },
	{ "   ", "" },
	{ "8@%rdi", "uint64_t register 0(rdi,,0)" },
	{ "-4@%eax 1@%r15b", "int32_t register 0(eax,,0); uint8_t register 0(r15b,,0)" },
	{ "1@%ah -2@%r8w", "uint8_t register 0(ah,,0); int16_t register 0(r8w,,0)" },
	{ "8f@%xmm3 4f@%xmm31", "double register 0(xmm3,,0); float register 0(xmm31,,0)" },
	{ "8@$5 -8@$-7 4@$0x10 4@$010",
	  "uint64_t constant 5; int64_t constant -7; uint32_t constant 16; uint32_t "
	  "constant 8" },
	{ "8@$18446744073709551615", "uint64_t constant -1" },
	{ "8@$table+8", "uint64_t constant 8+table" },
	{ "-4@-24(%rbp)", "int32_t memory -24(rbp,,0)" },
	{ "8@(%rsp)", "uint64_t memory 0(rsp,,0)" },
	/* an index with its scale, without, and without a base */
	{ "8@16(%rdi,%r9,8)", "uint64_t memory 16(rdi,r9,8)" },
	{ "8@(%rdi,%rsi)", "uint64_t memory 0(rdi,rsi,1)" },
	{ "8@-8(,%rax,4)", "uint64_t memory -8(,rax,4)" },
	{ "8@0(%rdi, %rsi, 2) 4@%eax",
	  "uint64_t memory 0(rdi,rsi,2); uint32_t register 0(eax,,0)" },
	/* relative to the instruction, and names that compilers give to statics */
	{ "8@counter(%rip)", "uint64_t memory 0+counter(rip,,0)" },
	{ "8@seq_iter.6+4(%rip)", "uint64_t memory 4+seq_iter.6(rip,,0)" },
	{ "8@-4+.LC0(%rip)", "uint64_t memory -4+.LC0(rip,,0)" },
	{ "8@global", "uint64_t memory 0+global" },
	{ "4@4096", "uint32_t memory 4096" },
	{ "8@%fs:-16(%rax)", "uint64_t memory f:-16(rax,,0)" },
	{ "8@%fs:0x28", "uint64_t memory f:40" },
	/* notes without sizes */
	{ "%rdi", "uint64_t register 0(rdi,,0)" },
	{ "%eax -8(%rbp) $3", "uint32_t register 0(eax,,0); ? memory -8(rbp,,0); ? constant 3" },
	/* what no x86 assembler writes, or what is wrong */
	{ "8@x0", "uint64_t memory 0+x0" },
	{ "8@[sp, 8] 4@%eax", "uint64_t unknown; uint32_t register 0(eax,,0)" },
	{ "8@", "uint64_t unknown" },
	{ "8@%", "uint64_t unknown" },
	{ "8@%rip", "uint64_t unknown" },
	{ "8@%r16", "uint64_t unknown" },
	{ "8@%r8x", "uint64_t unknown" },
	{ "8@%xmm32", "uint64_t unknown" },
	{ "3@%rax", "? unknown" },
	{ "0@%rax", "? unknown" },
	{ "128@%rax", "? unknown" },
	{ "99999999999999999999@%rax", "? unknown" },
	{ "8@$", "uint64_t unknown" },
	{ "8@$99999999999999999999", "uint64_t unknown" },
	{ "8@4(%rdi", "uint64_t unknown" },
	{ "8@4(%rdi)x", "uint64_t unknown" },
	{ "8@()", "uint64_t unknown" },
	{ "8@(%rdi,%rsi,3)", "uint64_t unknown" },
	{ "8@(%rdi,%xmm0,1)", "uint64_t unknown" },
	{ "8@(%xmm0)", "uint64_t unknown" },
	{ "8@a+b(%rip)", "uint64_t unknown" },
	{ "8@-a(%rip)", "uint64_t unknown" },
	{ "8@4+(%rip)", "uint64_t unknown" },
	{ "8@%fs:%rax", "uint64_t unknown" },
	{ "@ -@ )", "? memory 0+@; ? unknown; ? unknown" },
};

static void test_operands(void)
{
	struct strbuf got = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(operands); i++) {
		describe(operands[i][0], &got);
		if (strcmp(got.s, operands[i][1]) != 0)
			printf("operand '%s':\n", operands[i][0]);
		check_str(got.s, operands[i][1]);
	}
	strbuf_release(&got);
}

static void test_many(void)
{
	struct sdt_arg v[2];

	check_num(sdt_args_parse("1@%al 2@%ax 4@%eax 8@%rax", v, 2), 4);
	check_num(v[1].size_bytes, 2);
	check_num(v[1].text_len, 3);
	check_str(v[1].text, "%ax 4@%eax 8@%rax");
}

/* ---- notes ---- */

enum {
	CODE = 0x1000,
	DATA = 0x2000,
	NOTES = 0x3000,
	TABLES = 0x3800, /* symbols, then section headers */
	SIZE = 0x4000,
	MOVED = 0x10000, /* where the segments are, after prelink */
};

static char path[64];
static uint8_t file[SIZE];
static size_t notes_bytes;

struct note {
	uint64_t site, base, semaphore;
	const char *strings; /* provider, name and arguments */
	size_t strings_bytes;
};
#define NOTE(site, base, semaphore, strings) \
	(&(struct note){ site, base, semaphore, strings, sizeof(strings) })

static void put_note(const struct note *n)
{
	Elf64_Nhdr header = { .n_namesz = 8, .n_descsz = 24 + n->strings_bytes, .n_type = 3 };
	uint64_t words[3] = { n->site, n->base, n->semaphore };
	uint8_t *at = file + NOTES + notes_bytes;

	memcpy(at, &header, sizeof(header));
	memcpy(at + 12, "stapsdt", 8);
	memcpy(at + 20, words, 24);
	memcpy(at + 44, n->strings, n->strings_bytes);
	notes_bytes += ROUND_UP(44 + n->strings_bytes, 4);
}

static void put_segment(int i, uint32_t flags, uint64_t off, uint64_t va)
{
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = flags, .p_offset = off, .p_vaddr = va };

	ph.p_filesz = ph.p_memsz = 0x1000;
	memcpy(file + sizeof(Elf64_Ehdr) + i * sizeof(ph), &ph, sizeof(ph));
}

static void put_section(int i, const char *name, uint32_t type, uint64_t off, uint64_t size)
{
	static size_t names_bytes = 1;
	Elf64_Shdr sh = { .sh_type = type, .sh_offset = off, .sh_size = size, .sh_link = 1 };

	if (i == 1)
		names_bytes = 1;
	sh.sh_name = names_bytes;
	if (strcmp(name, ".stapsdt.base") == 0)
		sh.sh_addr = off;
	memcpy(file + TABLES + 0x400 + i * sizeof(sh), &sh, sizeof(sh));
	strcpy((char *)file + TABLES + names_bytes, name);
	names_bytes += strlen(name) + 1;
}

static void begin(uint64_t moved_by)
{
	Elf64_Ehdr eh = { .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3,
			  .e_shoff = TABLES + 0x400,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 5,
			  .e_shstrndx = 1 };

	memset(file, 0, sizeof(file));
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(file, &eh, sizeof(eh));
	put_segment(0, PF_R, 0, moved_by);
	put_segment(1, PF_R | PF_X, CODE, CODE + moved_by);
	put_segment(2, PF_R | PF_W, DATA, DATA + moved_by);
	notes_bytes = 0;
}

static struct image *end(struct sdt *s, uint64_t base_va, size_t size)
{
	struct err e = ERR_INIT;
	struct image *img;

	put_section(1, ".shstrtab", SHT_STRTAB, TABLES, 0x200);
	put_section(2, ".note.stapsdt", SHT_NOTE, NOTES, notes_bytes);
	put_section(3, base_va ? ".stapsdt.base" : ".other", SHT_PROGBITS, base_va, 1);
	put_section(4, ".symtab", SHT_SYMTAB, TABLES + 0x200, 2 * sizeof(Elf64_Sym));
	io_replace_file(path, file, size, 0600, NULL);
	img = image_open(path, "shown", &e);
	check_str(e.msg, "");
	if (img)
		sdt_init(s, img);
	return img;
}

static void done(struct sdt *s, struct image *img)
{
	sdt_release(s);
	image_close(img);
}

/* Two sites of one probe with a semaphore each, as the crate probe makes them, and base 0. */
static void test_sites(void)
{
	struct sdt s;
	struct image *img;

	begin(0);
	put_note(NOTE(CODE + 0x10, 0, DATA + 2, "tokio\0task-spawn\0008@%rdi"));
	put_note(NOTE(CODE + 0x20, 0, DATA + 4, "tokio\0task-spawn\0008@%rdi"));
	put_note(NOTE(CODE + 0x30, 0, 0, "c\0no__semaphore\0"));
	img = end(&s, 0x800, SIZE);
	check_num(s.sites.nr, 3);
	check_num(s.nr_broken, 0);
	if (s.sites.nr == 3) {
		check_str(s.sites.v[0].provider, "tokio");
		check_str(s.sites.v[1].name, "task-spawn");
		check_str(s.sites.v[1].args, "8@%rdi");
		check_num(s.sites.v[0].va, CODE + 0x10);
		check_num(s.sites.v[0].off, CODE + 0x10);
		check_num(s.sites.v[0].semaphore_va, DATA + 2);
		check_num(s.sites.v[1].semaphore_va, DATA + 4);
		check_num(s.sites.v[1].semaphore_off, DATA + 4);
		check_str(s.sites.v[2].args, "");
		check_num(s.sites.v[2].semaphore_va, 0);
	}
	done(&s, img);
}

/* The file was moved after linking: the note still has the old addresses. */
static void test_moved(void)
{
	struct sdt s;
	struct image *img;

	begin(MOVED);
	put_note(NOTE(CODE + 0x10, 0x800, DATA + 2, "p\0moved\0"));
	put_note(NOTE(CODE + 0x20, 0x800, DATA + 2 + MOVED, "p\0semaphore-is-right-already\0"));
	put_note(NOTE(CODE + 0x30 + MOVED, 0x800 + MOVED, 0, "p\0was-not-moved\0"));
	put_note(NOTE(CODE + 0x40 + MOVED, 0, DATA + 6 + MOVED, "p\0base-0\0"));
	img = end(&s, 0x800 + MOVED, SIZE);
	check_num(s.sites.nr, 4);
	for (size_t i = 0; i < s.sites.nr; i++) {
		check_num(s.sites.v[i].va, CODE + 0x10 * (i + 1) + MOVED);
		check_num(s.sites.v[i].off, CODE + 0x10 * (i + 1));
	}
	if (s.sites.nr == 4) {
		check_num(s.sites.v[0].semaphore_va, DATA + 2 + MOVED);
		check_num(s.sites.v[0].semaphore_off, DATA + 2);
		check_num(s.sites.v[1].semaphore_va, DATA + 2 + MOVED);
		check_num(s.sites.v[3].semaphore_va, DATA + 6 + MOVED);
	}
	done(&s, img);
}

/* Whatever is wrong with one note, the others are read. */
static void test_broken(void)
{
	struct sdt s;
	struct image *img;
	uint32_t type = 4;

	begin(0);
	put_note(NOTE(DATA + 0x10, 0, 0, "p\0site-in-the-data\0"));
	put_note(NOTE(UINT64_MAX, 0, 0, "p\0site-nowhere\0"));
	put_note(NOTE(CODE, 0, 0, "\0no-provider\0"));
	put_note(NOTE(CODE, 0, 0, "no-name\0\0"));
	put_note(&(struct note){ CODE, 0, 0, "no\0arguments", 12 });
	put_note(&(struct note){ CODE, 0, 0, "unended", 7 });
	put_note(&(struct note){ .strings = "", .strings_bytes = 0 });
	put_note(NOTE(CODE, 0, CODE, "p\0semaphore-in-the-code\0"));
	memcpy(file + NOTES + notes_bytes + 8, &type, 4); /* of another type: none of ours */
	put_note(NOTE(CODE, 0, 0, "p\0good\0"));
	img = end(&s, 0, SIZE);
	check_num(s.nr_broken, 7);
	check_num(s.sites.nr, 2);
	if (s.sites.nr == 2) {
		check_str(s.sites.v[0].name, "semaphore-in-the-code");
		check_num(s.sites.v[0].semaphore_va, CODE);
		check_num(s.sites.v[0].semaphore_off, 0);
		check_str(s.sites.v[1].name, "good");
	}
	done(&s, img);
}

/* A section that is cut anywhere: what is whole is read, and the cut is counted. */
static void test_cut(void)
{
	for (size_t cut = 0; cut <= 120; cut++) {
		struct sdt s;
		struct image *img;
		size_t whole;

		begin(0);
		put_note(NOTE(CODE, 0, 0, "p\0one\0"));
		put_note(NOTE(CODE, 0, 0, "p\0two\0"));
		whole = notes_bytes;
		notes_bytes = MIN(cut, whole);
		img = end(&s, 0, SIZE);
		check_num(s.sites.nr, cut >= whole - 1 ? 2 : cut >= whole / 2 - 1 ? 1 : 0);
		check_num(s.nr_broken,
			  cut && cut != whole / 2 - 1 && cut != whole / 2 && cut < whole - 1);
		done(&s, img);
	}
}

/* The section says that it goes on behind the end of the file. */
static void test_beyond(void)
{
	struct sdt s;
	struct image *img;

	begin(0);
	put_note(NOTE(CODE, 0, 0, "p\0one\0"));
	notes_bytes = SIZE;
	img = end(&s, 0, SIZE);
	check_num(s.sites.nr, 0);
	check_num(s.nr_broken, 1);
	done(&s, img);
}

/* ---- functions ---- */

static void test_functions(void)
{
	const Elf64_Sym symbols[] = {
		{ .st_name = 1,
		  .st_info = STT_FUNC,
		  .st_shndx = 1,
		  .st_value = CODE,
		  .st_size = 16 },
		{ .st_name = 1, .st_info = STT_OBJECT, .st_shndx = 1, .st_value = CODE + 8 },
	};
	struct symtab *t;
	struct image *img;
	struct sdt s;

	begin(0);
	memcpy(file + TABLES + 0x200, symbols, sizeof(symbols));
	img = end(&s, 0, SIZE);
	t = symtab_new(img);
	check_num(t->nr, 2);
	check_num(symtab_function(t, CODE - 1) != NULL, 0);
	check_num(symtab_function(t, CODE) != NULL, 1);
	check_num(symtab_function(t, CODE + 15) != NULL, 1);
	check_num(symtab_function(t, CODE + 16) != NULL, 0);
	check_num(symtab_function(t, UINT64_MAX) != NULL, 0);
	symtab_free(t);
	done(&s, img);
}

int main(void)
{
	strcpy(path, "/tmp/test_symbol_sdt.XXXXXX");
	close(mkstemp(path));
	test_operands();
	test_many();
	test_sites();
	test_moved();
	test_broken();
	test_cut();
	test_beyond();
	test_functions();
	unlink(path);
	return check_result();
}
