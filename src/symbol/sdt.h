// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The USDT probes of a file: notes of the owner "stapsdt", type 3, as sys/sdt.h of C and the Rust
 * crates usdt and probe leave them, in a section .note.stapsdt. A note stands for one *site*: a nop
 * in the code. A probe has as many sites as the compiler made of it, each with its own arguments
 * and perhaps a semaphore of its own.
 *
 *	u64 site | u64 base | u64 semaphore | provider\0 | name\0 | arguments\0
 *
 * A *semaphore* is a counter of 16 bits in the data that says how many trace the probe: where it is
 * 0 the program leaves out the work of it.
 */
#ifndef SYMBOL_SDT_H
#define SYMBOL_SDT_H

#include "base/vec.h"
#include "symbol/image.h"

struct sdt_site {
	/* As the note spells them, borrowed from the image. C writes '__' for the '-' of a name. */
	const char *provider, *name, *args;
	uint64_t va;		/* of the nop */
	uint64_t off;		/* of it in the file: where a uprobe goes */
	uint64_t semaphore_va;	/* 0: there is none */
	uint64_t semaphore_off; /* 0: it is not in the file, so no kernel can count it up */
};

struct sdt {
	VEC(struct sdt_site) sites; /* in the order of the notes */
	uint32_t nr_broken;	    /* notes that are cut, or whose site is not in the code */
};

void sdt_init(struct sdt *s, const struct image *img); /* no notes: no sites */
void sdt_release(struct sdt *s);

/* sdt_place.c: addresses as the note has them become those of the file. False: no such code. */
bool sdt_place(struct sdt_site *s, uint64_t base_va, const struct image *img);

#endif
