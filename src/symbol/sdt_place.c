// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Notes are not loaded, so nothing that moves a file's addresses after linking (prelink) changes
 * what they say. Each note therefore has the address that the section .stapsdt.base had, and what
 * lies between that and where the section is now is what everything moved by. Programs of the Rust
 * crate probe have 0 there, and did not move.
 *
 * Readers differ about semaphores: gdb moves them, libbpf does not. They move with the file, but
 * who wrote a note might have known that; so the address that is in writable data is the right one.
 */
#include "symbol/sdt.h"

/* Where the byte is in the file; 0: in no part that is loaded with that right. */
static uint64_t find(const struct image *img, uint64_t va, bool wants_code)
{
	for (uint32_t i = 0; i < img->nr_segments; i++) {
		const struct image_segment *s = &img->segments[i];

		if ((wants_code ? s->exec : s->write && !s->exec) && va >= s->va &&
		    va - s->va < s->file_bytes)
			return s->off + (va - s->va);
	}
	return 0;
}

/* Moves *va unless only the address as it is fits. */
static uint64_t settle(const struct image *img, uint64_t *va, uint64_t moved_by, bool wants_code)
{
	uint64_t off = find(img, *va + moved_by, wants_code);
	uint64_t unmoved_off = off || !moved_by ? 0 : find(img, *va, wants_code);

	if (!unmoved_off)
		*va += moved_by;
	return off ? off : unmoved_off;
}

bool sdt_place(struct sdt_site *s, uint64_t base_va, const struct image *img)
{
	const struct image_section *base = base_va ? image_section(img, ".stapsdt.base") : NULL;
	uint64_t moved_by = base && base->va ? base->va - base_va : 0;

	s->off = settle(img, &s->va, moved_by, true);
	if (s->semaphore_va)
		s->semaphore_off = settle(img, &s->semaphore_va, moved_by, false);
	return s->off;
}
