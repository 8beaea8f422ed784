// SPDX-License-Identifier: MIT OR Apache-2.0
/* Headers, segments, sections, build-id. Relocations are applied by image_reloc.c. */
#include "symbol/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/io.h"

#define MAX_SECTIONS 65536

static bool inside(const struct image *img, uint64_t off, uint64_t len)
{
	return off <= img->size_bytes && len <= img->size_bytes - off;
}

const uint8_t *image_at(const struct image *img, uint64_t va, uint64_t len)
{
	for (uint32_t i = 0; i < img->nr_segments; i++) {
		const struct image_segment *s = &img->segments[i];

		if (va >= s->va && va - s->va < s->file_bytes &&
		    len <= s->file_bytes - (va - s->va))
			return img->data + s->off + (va - s->va);
	}
	return NULL;
}

bool image_word(const struct image *img, uint64_t va, uint64_t *word)
{
	const uint8_t *p = image_at(img, va, sizeof(*word));

	if (p)
		memcpy(word, p, sizeof(*word));
	return p != NULL;
}

bool image_is_code(const struct image *img, uint64_t va)
{
	if (va < img->exec_min || va >= img->exec_max)
		return false;
	for (uint32_t i = 0; i < img->nr_segments; i++) {
		const struct image_segment *s = &img->segments[i];

		if (s->exec && va >= s->va && va - s->va < s->file_bytes)
			return true;
	}
	return false;
}

bool image_is_relocated(const struct image_segment *s, uint64_t va)
{
	uint64_t word = (va - s->va) / 8;

	return s->relocated && va >= s->va && va - s->va < s->file_bytes &&
	       s->relocated[word / 64] >> word % 64 & 1;
}

const struct image_section *image_section(const struct image *img, const char *name)
{
	for (uint32_t i = 0; i < img->nr_sections; i++)
		if (strcmp(img->sections[i].name, name) == 0)
			return &img->sections[i];
	return NULL;
}

void image_forget(struct image *img, bool symbols)
{
	for (uint32_t i = 0; i < img->nr_sections; i++) {
		struct image_section *s = &img->sections[i];
		bool is_debug = str_has_prefix(s->name, ".debug_") ||
				str_has_prefix(s->name, ".zdebug_") ||
				str_has_prefix(s->name, ".gnu_debug");

		if (!is_debug && (!symbols || (s->type != SHT_SYMTAB && s->type != SHT_DYNSYM)))
			continue;
		s->name = "";
		s->type = SHT_NULL;
		s->size_bytes = 0;
	}
}

const uint8_t *image_section_data(const struct image *img, const struct image_section *s)
{
	if (!s || s->type == SHT_NOBITS || !inside(img, s->off, s->size_bytes))
		return NULL;
	return img->data + s->off;
}

const char *image_string(const struct image *img, uint64_t off, uint64_t end)
{
	end = MIN(end, img->size_bytes);
	if (off >= end || !memchr(img->data + off, '\0', end - off))
		return NULL;
	return (const char *)img->data + off;
}

static void add_segment(struct image *img, const Elf64_Phdr *ph)
{
	struct image_segment *s = &img->segments[img->nr_segments];

	if (img->nr_segments == IMAGE_MAX_SEGMENTS || ph->p_vaddr + ph->p_memsz < ph->p_vaddr ||
	    !inside(img, ph->p_offset, ph->p_filesz)) {
		img->nr_broken++;
		return;
	}
	s->va = ph->p_vaddr;
	s->off = ph->p_offset;
	s->file_bytes = MIN(ph->p_filesz, ph->p_memsz);
	s->exec = ph->p_flags & PF_X;
	s->write = ph->p_flags & PF_W;
	if (s->exec && s->file_bytes) {
		img->exec_min = MIN(img->exec_min, s->va);
		img->exec_max = MAX(img->exec_max, s->va + s->file_bytes);
	}
	img->nr_segments++;
}

int image_next_note(const struct image *img, uint64_t *off, uint64_t end, struct image_note *note)
{
	uint64_t name = *off + sizeof(Elf64_Nhdr), desc, next;
	Elf64_Nhdr n;

	if (*off >= end)
		return 0;
	if (end > img->size_bytes || end - *off < sizeof(n))
		return -1;
	memcpy(&n, img->data + *off, sizeof(n));
	desc = name + ROUND_UP((uint64_t)n.n_namesz, 4);
	next = desc + ROUND_UP((uint64_t)n.n_descsz, 4);
	if (desc + n.n_descsz > end)
		return -1;
	*note = (struct image_note){
		.type = n.n_type,
		.name = (const char *)img->data + name,
		.name_bytes = n.n_namesz,
		.desc = img->data + desc,
		.desc_off = desc,
		.desc_bytes = n.n_descsz,
	};
	*off = MIN(next, end); /* the last one need not be padded */
	return 1;
}

static void read_notes(struct image *img, uint64_t off, uint64_t len)
{
	struct image_note n;

	if (!inside(img, off, len)) {
		img->nr_broken++;
		return;
	}
	for (uint64_t end = off + len; image_next_note(img, &off, end, &n) > 0;) {
		if (n.type != NT_GNU_BUILD_ID || n.name_bytes != 4 ||
		    memcmp(n.name, "GNU", 4) != 0 || img->build_id[0])
			continue;
		for (uint32_t i = 0; i < MIN(n.desc_bytes, IMAGE_MAX_BUILD_ID); i++)
			snprintf(img->build_id + 2 * i, 3, "%02x", n.desc[i]);
	}
}

static void read_sections(struct image *img, const Elf64_Ehdr *eh)
{
	uint64_t nr = eh->e_shnum, names_off = 0, names_end = 0;
	Elf64_Shdr sh;

	if (!eh->e_shoff || eh->e_shentsize != sizeof(sh) || nr > MAX_SECTIONS)
		return;
	if (!inside(img, eh->e_shoff, nr * sizeof(sh))) {
		img->lost_sections = true;
		img->nr_broken++;
		return;
	}
	if (eh->e_shstrndx < nr) {
		memcpy(&sh, img->data + eh->e_shoff + eh->e_shstrndx * sizeof(sh), sizeof(sh));
		if (inside(img, sh.sh_offset, sh.sh_size)) {
			names_off = sh.sh_offset;
			names_end = sh.sh_offset + sh.sh_size;
		}
	}
	img->sections = xcalloc(nr, sizeof(*img->sections));
	img->nr_sections = nr;
	for (uint64_t i = 0; i < nr; i++) {
		struct image_section *s = &img->sections[i];

		memcpy(&sh, img->data + eh->e_shoff + i * sizeof(sh), sizeof(sh));
		s->name = image_string(img, names_off + sh.sh_name, names_end);
		if (!s->name)
			s->name = "";
		s->va = sh.sh_addr;
		s->off = sh.sh_offset;
		s->size_bytes = sh.sh_size;
		s->entry_bytes = sh.sh_entsize;
		s->flags = sh.sh_flags;
		s->type = sh.sh_type;
		s->link = sh.sh_link;
		if (sh.sh_type == SHT_NOTE) /* a separate debug file has no PT_NOTE contents */
			read_notes(img, sh.sh_offset, sh.sh_size);
	}
}

/* PT_INTERP wins; without one DF_1_PIE tells a static PIE from a library. */
static enum elf_link link_kind(const struct image *img, const char *interp, bool has_soname,
			       bool has_pie_flag)
{
	if (img->is_dyn && has_soname && !has_pie_flag)
		return ELF_SHARED_OBJECT; /* also libc.so.6, which can be run */
	if (interp)
		return strstr(interp, "ld-musl") ? ELF_DYNAMIC_MUSL : ELF_DYNAMIC;
	if (!img->is_dyn)
		return ELF_STATIC;
	return has_pie_flag ? ELF_STATIC_PIE : ELF_SHARED_OBJECT;
}

static void read_link(struct image *img, const Elf64_Phdr *dynamic, const char *interp)
{
	bool has_soname = false, has_pie_flag = false;
	Elf64_Dyn d;

	if (dynamic && inside(img, dynamic->p_offset, dynamic->p_filesz)) {
		for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(d); i++) {
			memcpy(&d, img->data + dynamic->p_offset + i * sizeof(d), sizeof(d));
			if (d.d_tag == DT_NULL)
				break;
			has_soname |= d.d_tag == DT_SONAME;
			has_pie_flag |= d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE;
		}
	}
	img->link = link_kind(img, interp, has_soname, has_pie_flag);
}

static void read_segments(struct image *img, const Elf64_Ehdr *eh)
{
	const char *interp = NULL;
	Elf64_Phdr ph, dynamic = { 0 };

	for (uint32_t i = 0; i < eh->e_phnum; i++) {
		memcpy(&ph, img->data + eh->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD)
			add_segment(img, &ph);
		else if (ph.p_type == PT_DYNAMIC)
			dynamic = ph;
		else if (ph.p_type == PT_NOTE)
			read_notes(img, ph.p_offset, ph.p_filesz);
		else if (ph.p_type == PT_INTERP && inside(img, ph.p_offset, ph.p_filesz))
			interp = image_string(img, ph.p_offset, ph.p_offset + ph.p_filesz);
	}
	read_link(img, dynamic.p_filesz ? &dynamic : NULL, interp);
	if (img->is_dyn && dynamic.p_filesz)
		image_relocate(img, dynamic.p_offset, dynamic.p_filesz);
}

static int parse(struct image *img, const char *shown, struct err *e)
{
	Elf64_Ehdr eh;

	if (img->size_bytes < EI_NIDENT || memcmp(img->data, ELFMAG, SELFMAG) != 0)
		return err_set(e, ERR_NOT_ELF,
			       "%s is not an ELF file: give a compiled program or library", shown);
	if (img->data[EI_CLASS] != ELFCLASS64 || img->data[EI_DATA] != ELFDATA2LSB)
		return err_set(e, ERR_FOREIGN,
			       "%s is for another architecture: only " ARCH_NAME " is known",
			       shown);
	if (img->size_bytes < sizeof(eh))
		return err_set(e, ERR_BAD_ELF, "%s is cut: it ends within its first header", shown);
	memcpy(&eh, img->data, sizeof(eh));
	if (eh.e_machine != ARCH_ELF_MACHINE)
		return err_set(e, ERR_FOREIGN,
			       "%s is for another architecture (ELF machine %u): only " ARCH_NAME
			       " is known",
			       shown, eh.e_machine);
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return err_set(e, ERR_BAD_ELF,
			       "%s is neither a program nor a shared library (ELF type %u)", shown,
			       eh.e_type);
	if (!eh.e_phnum || eh.e_phentsize != sizeof(Elf64_Phdr) ||
	    !inside(img, eh.e_phoff, (uint64_t)eh.e_phnum * sizeof(Elf64_Phdr)))
		return err_set(e, ERR_BAD_ELF, "%s is a broken ELF file: it has no program headers",
			       shown);
	img->is_dyn = eh.e_type == ET_DYN;
	read_segments(img, &eh);
	read_sections(img, &eh);
	return 0;
}

static int map_file(struct image *img, const char *path, const char *shown, struct err *e)
{
	int fd = io_open(path), rc = -1;
	struct stat st;

	if (fd < 0) {
		err_sys(e, "cannot open %s", shown);
		if (e && (errno == EACCES || errno == EPERM))
			e->tag = ERR_PERMISSION;
		return -1;
	}
	if (fstat(fd, &st) < 0) {
		err_sys(e, "cannot look at %s", shown);
	} else if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_NOT_ELF, "%s is %s, not an ELF file", shown,
			S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
	} else if (st.st_size == 0) {
		err_set(e, ERR_NOT_ELF, "%s is empty", shown);
	} else {
		img->size_bytes = st.st_size;
		img->data = mmap(NULL, img->size_bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_NORESERVE, fd, 0);
		if (img->data == MAP_FAILED) {
			img->data = NULL;
			err_sys(e, "cannot map %s", shown);
		} else {
			rc = 0;
		}
	}
	close(fd);
	return rc;
}

struct image *image_open(const char *path, const char *shown_path, struct err *e)
{
	struct image *img = xcalloc(1, sizeof(*img));
	const char *shown = shown_path ? shown_path : path;

	img->exec_min = UINT64_MAX;
	if (map_file(img, path, shown, e) < 0 || parse(img, shown, e) < 0) {
		image_close(img);
		return NULL;
	}
	return img;
}

void image_close(struct image *img)
{
	if (!img)
		return;
	for (uint32_t i = 0; i < img->nr_segments; i++)
		free(img->segments[i].relocated);
	free(img->sections);
	if (img->data)
		munmap(img->data, img->size_bytes);
	free(img);
}
