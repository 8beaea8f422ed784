// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Layouts of damaged debug info: whatever is inside, reading ends without a crash or a wild read.
 * Types are followed as a walker follows them, from whatever can be asked for.
 *
 * Input that is no ELF file becomes the DIEs of a unit in one. Abbreviations, names and addresses
 * are given, each named by a byte, so that most inputs are trees of types.
 */
#include <dwarf.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/layout.h"

#define MAX_TYPES 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME	 DW_AT_name, DW_FORM_strx1
#define TYPE	 DW_AT_type, DW_FORM_ref2
#define SIZE	 DW_AT_byte_size, DW_FORM_data1
#define CODE	 DW_AT_low_pc, DW_FORM_addrx1
#define CODE_END DW_AT_high_pc, DW_FORM_data1
#define LINKAGE	 DW_AT_linkage_name, DW_FORM_strx1
#define LINE	 DW_AT_decl_file, DW_FORM_data1, DW_AT_decl_line, DW_FORM_data1

static const uint8_t abbrevs[] = {
	1,
	DW_TAG_compile_unit,
	1,
	DW_AT_language,
	DW_FORM_data1,
	DW_AT_str_offsets_base,
	DW_FORM_sec_offset,
	DW_AT_addr_base,
	DW_FORM_sec_offset,
	0,
	0,
	2,
	DW_TAG_namespace,
	1,
	NAME,
	0,
	0,
	3,
	DW_TAG_structure_type,
	1,
	NAME,
	SIZE,
	0,
	0,
	4,
	DW_TAG_structure_type,
	0,
	NAME,
	DW_AT_declaration,
	DW_FORM_flag_present,
	0,
	0,
	5,
	DW_TAG_member,
	0,
	NAME,
	TYPE,
	DW_AT_data_member_location,
	DW_FORM_data1,
	LINE,
	0,
	0,
	6,
	DW_TAG_variant_part,
	1,
	DW_AT_discr,
	DW_FORM_ref2,
	0,
	0,
	7,
	DW_TAG_variant,
	1,
	DW_AT_discr_value,
	DW_FORM_data1,
	0,
	0,
	8,
	DW_TAG_variant,
	1,
	0,
	0,
	9,
	DW_TAG_template_type_parameter,
	0,
	NAME,
	TYPE,
	0,
	0,
	10,
	DW_TAG_subprogram,
	1,
	NAME,
	CODE,
	LINE,
	0,
	0,
	11,
	DW_TAG_subprogram,
	1,
	DW_AT_abstract_origin,
	DW_FORM_ref2,
	CODE,
	0,
	0,
	12,
	DW_TAG_formal_parameter,
	0,
	TYPE,
	0,
	0,
	13,
	DW_TAG_pointer_type,
	0,
	NAME,
	TYPE,
	0,
	0,
	14,
	DW_TAG_array_type,
	1,
	TYPE,
	0,
	0,
	15,
	DW_TAG_subrange_type,
	0,
	DW_AT_count,
	DW_FORM_data1,
	0,
	0,
	16,
	DW_TAG_base_type,
	0,
	NAME,
	SIZE,
	DW_AT_encoding,
	DW_FORM_data1,
	0,
	0,
	17,
	DW_TAG_variable,
	0,
	NAME,
	TYPE,
	DW_AT_location,
	DW_FORM_exprloc,
	0,
	0,
	18,
	DW_TAG_structure_type,
	1,
	NAME,
	SIZE,
	DW_AT_containing_type,
	DW_FORM_ref2,
	0,
	0,
	19,
	DW_TAG_enumeration_type,
	1,
	NAME,
	SIZE,
	0,
	0,
	20,
	DW_TAG_enumerator,
	0,
	NAME,
	DW_AT_const_value,
	DW_FORM_sdata,
	0,
	0,
	21,
	DW_TAG_typedef,
	0,
	TYPE,
	0,
	0,
	22,
	DW_TAG_subprogram,
	1,
	LINKAGE,
	CODE,
	CODE_END,
	DW_AT_frame_base,
	DW_FORM_exprloc,
	0,
	0,
	23,
	DW_TAG_inlined_subroutine,
	1,
	DW_AT_abstract_origin,
	DW_FORM_ref2,
	CODE,
	CODE_END,
	0,
	0,
	24,
	DW_TAG_inlined_subroutine,
	1,
	LINKAGE,
	DW_AT_ranges,
	DW_FORM_rnglistx,
	0,
	0,
	25,
	DW_TAG_lexical_block,
	1,
	0,
	0,
	26,
	DW_TAG_variable,
	0,
	TYPE,
	DW_AT_location,
	DW_FORM_exprloc,
	0,
	0,
	27,
	DW_TAG_variable,
	0,
	TYPE,
	DW_AT_location,
	DW_FORM_loclistx,
	0,
	0,
	28,
	DW_TAG_formal_parameter,
	0,
	DW_AT_abstract_origin,
	DW_FORM_ref2,
	DW_AT_location,
	DW_FORM_sec_offset,
	0,
	0,
	0,
};

static const char names[][32] = {
	"a",
	"Unresumed",
	"Returned",
	"Suspend0",
	"Suspend1",
	"__state",
	"__awaitee",
	"{async_fn_env#0}",
	"{async_fn#0}",
	"{impl#0}",
	"poll",
	"Pin<&mut a::{async_fn_env#0}>",
	"<A as B>::{vtable}",
	"T",
	"!",
	"u8",
};

struct elf {
	struct strbuf file;
	Elf64_Shdr sections[10];
	unsigned nr_sections;
	struct strbuf section_names;
};

static void add_section(struct elf *e, const char *name, const void *data, size_t len)
{
	e->sections[e->nr_sections++] =
		(Elf64_Shdr){ .sh_name = e->section_names.len,
			      .sh_type = strcmp(name, ".shstrtab") ? SHT_PROGBITS : SHT_STRTAB,
			      .sh_offset = e->file.len,
			      .sh_size = len,
			      .sh_addralign = 1 };
	strbuf_add(&e->section_names, name, strlen(name) + 1);
	strbuf_add(&e->file, data, len);
}

/* The unit: its header and first DIE, then the input. */
static void add_unit(struct elf *e, const uint8_t *data, size_t size)
{
	struct __attribute__((packed)) {
		uint32_t len;
		uint16_t version;
		uint8_t type, addr_bytes;
		uint32_t abbrev_off;
		uint8_t code, language;
		uint32_t str_offsets_base, addr_base;
	} head = { .len = sizeof(head) - 4 + size,
		   .version = 5,
		   .type = DW_UT_compile,
		   .addr_bytes = 8,
		   .code = 1,
		   .language = DW_LANG_Rust };
	struct strbuf info = STRBUF_INIT;

	strbuf_add(&info, &head, sizeof(head));
	strbuf_add(&info, data, size);
	add_section(e, ".debug_info", info.s, info.len);
	strbuf_release(&info);
}

static void make_elf(const uint8_t *data, size_t size, struct strbuf *to)
{
	struct elf e = { .file = STRBUF_INIT, .section_names = STRBUF_INIT };
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(head),
			    .e_phoff = sizeof(head),
			    .e_phnum = 1,
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_shentsize = sizeof(Elf64_Shdr) };
	uint32_t offsets[ARRAY_SIZE(names)];
	uint64_t addrs[16];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		offsets[i] = i * sizeof(names[0]);
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		addrs[i] = i * 16;
	strbuf_add(&e.file, &head, sizeof(head));
	strbuf_add(&e.file, &(Elf64_Phdr){ .p_type = PT_NULL }, sizeof(Elf64_Phdr));
	add_section(&e, "", "", 0);
	e.sections[0].sh_type = SHT_NULL;
	add_unit(&e, data, size);
	add_section(&e, ".debug_abbrev", abbrevs, sizeof(abbrevs));
	add_section(&e, ".debug_str", names, sizeof(names));
	add_section(&e, ".debug_str_offsets", offsets, sizeof(offsets));
	add_section(&e, ".debug_addr", addrs, sizeof(addrs));
	add_section(&e, ".debug_loclists", data, size);
	add_section(&e, ".debug_rnglists", data, size);
	strbuf_add(&e.section_names, ".shstrtab", sizeof(".shstrtab"));
	add_section(&e, ".shstrtab", e.section_names.s, e.section_names.len);
	e.sections[e.nr_sections - 1].sh_name = e.sections[e.nr_sections - 1].sh_size - 10;
	head.e_shoff = e.file.len;
	head.e_shnum = e.nr_sections;
	head.e_shstrndx = e.nr_sections - 1;
	memcpy(e.file.s, &head, sizeof(head));
	strbuf_add(&e.file, e.sections, e.nr_sections * sizeof(e.sections[0]));
	strbuf_add(to, e.file.s, e.file.len);
	strbuf_release(&e.file);
	strbuf_release(&e.section_names);
}

static uint64_t sum; /* of all that is read, so that nothing of it is left out */

static void look(const struct layout_member *members, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		sum += members[i].name[0] + members[i].type + members[i].off;
}

static void look_at_type(struct layouts *l, uint32_t type)
{
	const struct layout *t = layouts_get(l, type);

	sum += t->name[0] + t->size_bytes + layouts_get(l, t->target)->nr_elements;
	look(t->members, t->nr_members);
	for (uint32_t i = 0; i < t->nr_variants; i++) {
		const struct layout_variant *v = &t->variants[i];

		look(v->members, v->nr_members);
		sum += v->name[0] + v->file[0] + v->line;
		if (v->nr_saved > v->nr_members || v->awaitee >= (int32_t)v->nr_members)
			abort();
		if (layout_variant(t, v->value) == NULL)
			abort();
	}
	for (uint32_t i = 0; i < t->nr_params; i++)
		sum += t->params[i].name[0] + t->params[i].type;
	if (t->kind == LAYOUT_COROUTINE)
		sum += t->function[0] + t->file[0];
}

/* In the function there, and in those inlined into it. */
static void look_at_pinned(struct layouts *l, uint64_t va)
{
	static const char *const params[] = { "T", "F" };

	for (unsigned i = 0; i < ARRAY_SIZE(params); i++) {
		for (int what = LAYOUT_HUNT_VALUE; what <= LAYOUT_HUNT_CODE; what++) {
			struct layout_pinned *pinned;
			size_t nr = layouts_pinned(l, va, "o", params[i], what, &pinned);

			for (size_t k = 0; k < nr; k++)
				if (pinned[k].va >= pinned[k].end_va)
					abort();
			free(pinned);
		}
	}
	sum += layouts_inlines(l, va, "o");
}

static void look_at_all(const char *path)
{
	const char *why;
	struct layouts *l = layouts_open(path, NULL, &why);

	if (l) {
		layouts_named(l, "layouts::leaf::{async_fn_env#0}");
		layouts_named(l, "a::{async_fn_env#0}");
		for (uint64_t va = 0; va < 1 << 12; va += 8)
			layouts_of_vtable(l, va);
		for (uint64_t va = 0; va < 1 << 17; va += 16) {
			layouts_of_function(l, va, "T");
			look_at_pinned(l, va);
		}
		for (uint32_t type = 0; type < MAX_TYPES; type++)
			look_at_type(l, type);
	}
	layouts_close(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz_layout", MFD_CLOEXEC);
	struct strbuf file = STRBUF_INIT;
	char path[64];

	if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0)
		strbuf_add(&file, data, size);
	else
		make_elf(data, size, &file);
	if (fd < 0 || io_write_all(fd, file.s, file.len) < 0)
		abort();
	strbuf_release(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	look_at_all(path);
	close(fd);
	return 0;
}
