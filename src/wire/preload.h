// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * LD_PRELOAD of a program that futrace starts, or that a traced program becomes:
 *
 *	[SANITIZERS:]OURS[:REST]	SANITIZERS and REST are the user's own list
 *	SANITIZER::OURS			the user has none; the program links the sanitizer
 *
 * The runtimes of AddressSanitizer and its relatives end the program unless they come first of all
 * libraries. OURS is the agent, and the probes for perf behind it. The loader skips the empty entry
 * of the second form; it says that the entry before it is not the user's. Where the user preloads
 * libraries before the sanitizer, it complains with us as it does without.
 */
#ifndef WIRE_PRELOAD_H
#define WIRE_PRELOAD_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/elf.h"

#define WIRE_PRELOAD	   "LD_PRELOAD="
#define WIRE_PRELOAD_LEN   11
#define WIRE_SANITIZER_MAX 64 /* bytes of a sanitizer's file name, with its NUL */
#define WIRE_PRELOAD_EXTRA (WIRE_SANITIZER_MAX + 4) /* what a list may need besides its parts */
#define WIRE_MAX_DYNAMIC   4096			    /* entries of a dynamic section that are read */
#define WIRE_DYNAMIC_CHUNK 16

/* How long the first entry is: the loader cuts a list at both. */
static inline size_t wire_preload_entry(const char *list)
{
	size_t len = 0;

	while (list[len] && list[len] != ':' && list[len] != ' ')
		len++;
	return len;
}

/* Appends a string; returns where it ends. */
static inline char *wire_put(char *to, const char *text)
{
	size_t len = __builtin_strlen(text);

	__builtin_memcpy(to, text, len + 1);
	return to + len;
}

/* Is the file of this path, len bytes long, the runtime of a sanitizer that must come first? */
static inline bool wire_is_sanitizer(const char *path, size_t len)
{
	static const char names[][24] = { "libasan.so",	       "libtsan.so",
					  "liblsan.so",	       "libhwasan.so",
					  "libclang_rt.asan",  "libclang_rt.tsan",
					  "libclang_rt.hwasan" };
	const char *name = path + len;

	while (name > path && name[-1] != '/')
		name--;
	len -= name - path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t prefix = __builtin_strlen(names[i]);

		if (len >= prefix && __builtin_memcmp(name, names[i], prefix) == 0)
			return true;
	}
	return false;
}

/* How much of a list is sanitizers that it begins with, without the separator behind them. */
static inline size_t wire_preload_first(const char *list)
{
	size_t first = 0, at = 0;

	for (;;) {
		size_t len = wire_preload_entry(list + at);

		if (!len && !first && list[at]) { /* the loader skips it, too */
			at++;
			continue;
		}
		if (!len || !wire_is_sanitizer(list + at, len))
			return first;
		first = at + len;
		if (!list[first])
			return first;
		at = first + 1;
	}
}

/*
 * Takes ours out of a list in which it may be: the user's own list remains, in place. False: it was
 * not there.
 */
static inline bool wire_preload_take(char *list, const char *ours)
{
	size_t first = wire_preload_first(list), len = __builtin_strlen(ours);
	char *at = list + first + (first && list[first]);
	bool is_ours = first && *at == ':'; /* the sanitizer, too */

	at += is_ours;
	if (!len || __builtin_strncmp(at, ours, len) != 0 || (at[len] && at[len] != ':'))
		return false;
	if (is_ours)
		first = 0;
	/* the separator before the rest, or, if there is none, that behind what comes first */
	at += len;
	if (!*at)
		list[first] = '\0';
	else
		__builtin_memmove(list + first, first ? at : at + 1,
				  __builtin_strlen(first ? at : at + 1) + 1);
	return true;
}

/*
 * Writes the list that a program shall get to `to`, which has room for all parts and
 * WIRE_PRELOAD_EXTRA. theirs: the user's own, may be NULL; needed: the sanitizer that the program
 * links, "" if none.
 */
static inline void wire_preload_write(char *to, const char *theirs, const char *needed,
				      const char *ours)
{
	size_t first = theirs ? wire_preload_first(theirs) : 0;
	const char *rest = theirs ? theirs + first + (first && theirs[first]) : "";

	if (first) {
		__builtin_memcpy(to, theirs, first);
		to += first;
		*to++ = ':';
	} else if (*needed && !rest[__builtin_strspn(rest, ": ")]) {
		to = wire_put(wire_put(to, needed), "::");
	}
	to = wire_put(to, ours);
	if (*rest)
		wire_put(wire_put(to, ":"), rest);
}

/* ---- which one a program links ---- */

/* Reads the examined file, by the caller's pread. */
typedef long wire_pread(int fd, void *to, size_t len, long off);

static inline bool wire_read_phdr(wire_pread *read_at, int fd, const Elf64_Ehdr *eh, unsigned i,
				  Elf64_Phdr *ph)
{
	return read_at(fd, ph, sizeof(*ph), eh->e_phoff + i * sizeof(*ph)) == sizeof(*ph);
}

/* Where the byte at a link-time address lies in the file; 0: nowhere. */
static inline uint64_t wire_file_off(wire_pread *read_at, int fd, const Elf64_Ehdr *eh, uint64_t va)
{
	Elf64_Phdr ph;

	for (unsigned i = 0; i < eh->e_phnum && wire_read_phdr(read_at, fd, eh, i, &ph); i++)
		if (ph.p_type == PT_LOAD && va >= ph.p_vaddr && va - ph.p_vaddr < ph.p_filesz)
			return va - ph.p_vaddr + ph.p_offset;
	return 0;
}

/* Is the name at that place of the file a sanitizer's? Then it is copied. */
static inline bool wire_take_needed(wire_pread *read_at, int fd, uint64_t off,
				    char name[WIRE_SANITIZER_MAX])
{
	char read[WIRE_SANITIZER_MAX];
	long len = read_at(fd, read, sizeof(read) - 1, off);
	size_t name_len;

	read[len > 0 ? len : 0] = '\0';
	name_len = wire_preload_entry(read);
	if (read[name_len] || len <= (long)name_len || !wire_is_sanitizer(read, name_len))
		return false;
	__builtin_memcpy(name, read, name_len + 1);
	return true;
}

/* Looks at entries of the dynamic section until it ends. strings: where the names begin in the
 * file, 0: not yet known, then it is looked for and returned as an address. */
static inline uint64_t wire_scan_dynamic(wire_pread *read_at, int fd, const Elf64_Phdr *dynamic,
					 uint64_t strings, char name[WIRE_SANITIZER_MAX])
{
	Elf64_Dyn d[WIRE_DYNAMIC_CHUNK];

	for (unsigned n = 0; n < WIRE_MAX_DYNAMIC; n += WIRE_DYNAMIC_CHUNK) {
		long len = read_at(fd, d, sizeof(d), dynamic->p_offset + n * sizeof(d[0]));

		for (unsigned i = 0; i < WIRE_DYNAMIC_CHUNK; i++) {
			if (len < (long)((i + 1) * sizeof(d[0])) || d[i].d_tag == DT_NULL)
				return 0;
			if (!strings && d[i].d_tag == DT_STRTAB)
				return d[i].d_un.d_ptr;
			if (strings && d[i].d_tag == DT_NEEDED &&
			    wire_take_needed(read_at, fd, strings + d[i].d_un.d_val, name))
				return 0;
		}
	}
	return 0;
}

/* The sanitizer's runtime that the program links as a library, as its file names it; "": none. The
 * file may hold anything. */
static inline void wire_find_sanitizer(wire_pread *read_at, int fd, const Elf64_Ehdr *eh,
				       char name[WIRE_SANITIZER_MAX])
{
	uint64_t strings_va, strings;
	Elf64_Phdr ph;

	*name = '\0';
	for (unsigned i = 0; i < eh->e_phnum && wire_read_phdr(read_at, fd, eh, i, &ph); i++) {
		if (ph.p_type != PT_DYNAMIC)
			continue;
		strings_va = wire_scan_dynamic(read_at, fd, &ph, 0, name);
		strings = strings_va ? wire_file_off(read_at, fd, eh, strings_va) : 0;
		if (strings)
			wire_scan_dynamic(read_at, fd, &ph, strings, name);
		return;
	}
}

static inline bool wire_is_elf(const void *head, size_t len)
{
	const Elf64_Ehdr *eh = head;

	return len >= sizeof(*eh) && __builtin_memcmp(head, ELFMAG, SELFMAG) == 0 &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 && eh->e_machine == ARCH_ELF_MACHINE &&
	       eh->e_phentsize == sizeof(Elf64_Phdr);
}

#endif
