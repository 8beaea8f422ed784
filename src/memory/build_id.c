// SPDX-License-Identifier: MIT OR Apache-2.0
/* The build-id of what is loaded, from memory: its first page has headers, and they lead to it. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "memory/memory.h"

#define MAX_PHDRS 64
#define MAX_NOTES 4096
#define MAX_BYTES ((MEMORY_BUILD_ID_SIZE - 1) / 2)

/* Returns whether it is there. */
static bool find_note(const uint8_t *notes, uint64_t len, char *build_id)
{
	Elf64_Nhdr n;

	for (uint64_t at = 0, desc; at + sizeof(n) <= len; at = desc + ROUND_UP(n.n_descsz, 4u)) {
		memcpy(&n, notes + at, sizeof(n));
		desc = at + sizeof(n) + ROUND_UP((uint64_t)n.n_namesz, 4);
		if (desc + n.n_descsz > len)
			return false;
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 || !n.n_descsz ||
		    memcmp(notes + at + sizeof(n), "GNU", 4) != 0)
			continue;
		for (uint32_t i = 0; i < MIN(n.n_descsz, MAX_BYTES); i++)
			snprintf(build_id + 2 * i, 3, "%02x", notes[desc + i]);
		return true;
	}
	return false;
}

bool memory_build_id(struct memory *m, uint64_t addr, char build_id[MEMORY_BUILD_ID_SIZE])
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[MAX_PHDRS];
	uint64_t bias = addr;
	uint8_t notes[MAX_NOTES];

	build_id[0] = '\0';
	if (!memory_read(m, addr, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > MAX_PHDRS ||
	    !memory_read(m, addr + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset == 0)
			bias = addr - ph[i].p_vaddr;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_NOTE || ph[i].p_filesz > sizeof(notes))
			continue;
		/* the kernel dumps no more of a file than its first page, and the note may follow
		 */
		if (!memory_read(m, bias + ph[i].p_vaddr, notes, ph[i].p_filesz))
			return false;
		if (find_note(notes, ph[i].p_filesz, build_id))
			break;
	}
	return true;
}
