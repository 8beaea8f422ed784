// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An ELF file as the loader would see it: mapped, bounds-checked, with its dynamic relocations
 * applied as if it were loaded at 0. Hence every address here is a link-time address (va), and a
 * word read by va is what the program finds there minus the load base. The file is hostile input:
 * whatever lies outside of it is skipped and counted in nr_broken, never followed.
 */
#ifndef SYMBOL_IMAGE_H
#define SYMBOL_IMAGE_H

#include "base/err.h"

/* How the program gets its libraries: decides whether LD_PRELOAD works. */
enum elf_link {
	ELF_DYNAMIC, /* glibc's loader */
	ELF_DYNAMIC_MUSL,
	ELF_STATIC,
	ELF_STATIC_PIE,
	ELF_SHARED_OBJECT, /* no program */
};

#define IMAGE_MAX_SEGMENTS 64
#define IMAGE_MAX_BUILD_ID 64

struct image_segment {
	uint64_t va, off, file_bytes;
	bool exec, write;
	uint64_t *relocated; /* a bit for each 8-byte word of the file part; NULL: none is */
};

struct image_section {
	const char *name; /* "" when broken */
	uint64_t va, off, size_bytes, entry_bytes, flags;
	uint32_t type, link;
};

struct image {
	uint8_t *data; /* mapped privately */
	size_t size_bytes;
	bool is_dyn; /* ET_DYN: addresses in data are relocated words, or they are none */
	enum elf_link link;
	char build_id[2 * IMAGE_MAX_BUILD_ID + 1]; /* hex, "" when there is none */
	struct image_segment segments[IMAGE_MAX_SEGMENTS];
	uint32_t nr_segments;
	struct image_section *sections;
	uint32_t nr_sections;
	uint64_t exec_min, exec_max; /* hull of the executable segments */
	uint64_t nr_relocs, nr_broken;
	bool lost_sections; /* it had some, behind where it ends now */
};

/* ERR_NOT_ELF, ERR_FOREIGN, ERR_BAD_ELF, ERR_SYS or ERR_PERMISSION; shown_path is for messages. */
struct image *image_open(const char *path, const char *shown_path, struct err *e);
void image_close(struct image *img);

/* The bytes of [va, va + len) when all of them are in the file, else NULL. */
const uint8_t *image_at(const struct image *img, uint64_t va, uint64_t len);
bool image_word(const struct image *img, uint64_t va, uint64_t *word);
bool image_is_code(const struct image *img, uint64_t va);
/* Did a relocation make this word an address? Always false in a file that is not ET_DYN. */
bool image_is_relocated(const struct image_segment *s, uint64_t va);
/*
 * The first section of that name, NULL when there is none. Its contents may lie outside of the
 * file.
 */
const struct image_section *image_section(const struct image *img, const char *name);
/* The contents of a section, NULL when they are not in the file. */
const uint8_t *image_section_data(const struct image *img, const struct image_section *s);
/* From now on it is as if there were no such sections: debug info alone, or symbols too. */
void image_forget(struct image *img, bool symbols);
/* A NUL-terminated string inside of the file that ends before `end`, else NULL. */
const char *image_string(const struct image *img, uint64_t off, uint64_t end);

/* An entry of a note section or segment. */
struct image_note {
	const char *name; /* not terminated for sure */
	const uint8_t *desc;
	uint64_t desc_off; /* in the file */
	uint32_t type, name_bytes, desc_bytes;
};

/* The note at *off, which is moved behind it. 0: there is none before end; -1: it is cut. */
int image_next_note(const struct image *img, uint64_t *off, uint64_t end, struct image_note *note);

/* image_reloc.c: applies what PT_DYNAMIC at [off, off + len) lists. Called once by image_open. */
void image_relocate(struct image *img, uint64_t dynamic_off, uint64_t dynamic_len);

#endif
