// SPDX-License-Identifier: MIT OR Apache-2.0
/* Memory that a test made up: ranges of addresses, each with bytes of the test's. */
#ifndef TESTS_MEMORY_FAKE_H
#define TESTS_MEMORY_FAKE_H

#include "unit.h"
#include "memory/memory.h"

struct fake_range {
	uint64_t addr;
	uint8_t *bytes;
	uint64_t len;
};

struct fake {
	struct memory m;
	VEC(struct fake_range) ranges;
	uint64_t nr_reads; /* calls */
	/* called before each read of a piece, to change what is there */
	void (*before)(struct fake *f, uint64_t addr);
	void *arg;
};

/* To be closed by memory_close(&f->m). */
struct fake *fake_new(void);
/* Private memory that may be read and written, all zero. Call memory_settle when all are added. */
uint8_t *fake_add(struct fake *f, uint64_t addr, uint64_t len);
void fake_put(struct fake *f, uint64_t addr, uint64_t word);

#endif
