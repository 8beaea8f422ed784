// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads ELF files, debug info, cores and the memory of others in a worker (base/worker.h), with
 * limits that fit the size of what is read. What it would keep in the cache is stored by the
 * caller.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include "base/worker.h"

struct reader {
	const char *stage;	/* what is read: for reader_set_fault */
	const char *path;	/* of the file; NULL: none that tells how much there is to do */
	const char *debug_path; /* of its separate debug file, which is read too; NULL: none */
	const char *cache_dir;	/* NULL: no cache */
	void (*run)(void *arg, struct strbuf *answer); /* in the worker */
	void *arg;
	bool is_part; /* only a part of the file is read: there is less time */
	bool speaks;  /* as in struct worker_job; there is no limit on elapsed time then */
	const struct worker_meanwhile *meanwhile; /* NULL: nothing */
};

/* As worker_run. Where there can be no worker it is read all the same, in this process. */
enum worker_end reader_run(const struct reader *r, struct strbuf *answer, char why[WORKER_WHY],
			   int *signal_number);

/*
 * For tests: "abort@full,symbols" makes readers of these stages do so; also "hang", "spin" and
 * "memory". ":MS" behind it is how many milliseconds they may take. NULL or nonsense: as usual.
 */
void reader_set_fault(const char *spec);

#endif
