// SPDX-License-Identifier: MIT OR Apache-2.0
/* What all recognisers do: walk through a file's data word by word, and look for versions in its
 * texts. */
#ifndef RUNTIME_SCAN_H
#define RUNTIME_SCAN_H

#include <string.h>

#include "runtime/runtime.h"

static inline uint64_t scan_load(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/* A word of the file that may begin a table, and how many bytes there are from it on. */
struct scan_place {
	const struct image_segment *segment;
	uint64_t va, left;
	const uint8_t *p;
};

/* True: there is a table at this place, go on behind its words. */
typedef bool scan_fn(struct finding *f, void *arg, const struct scan_place *at);

/*
 * Calls fn for each aligned word that is an address of code, wherever nr_words follow in data that
 * may hold addresses.
 */
void scan_tables(struct finding *f, unsigned nr_words, scan_fn *fn, void *arg);

/* Is word i of the place an address of code? In a relocatable file it must be relocated. */
bool scan_is_code(const struct finding *f, const struct scan_place *at, unsigned i);

/* A RawWakerVTable: clone, wake, wake_by_ref, drop. Its words are to be filled in. */
#define WAKER_WORDS 4
struct found_table scan_waker(uint64_t va, enum wire_table_kind kind);

/*
 * Panic messages name their source file, and cargo's folders are named after the version: adds all
 * "1.54.1" of "/tokio-1.54.1/src/" to versions, joined by " + ". crate: "tokio-1".
 */
void scan_versions(const struct finding *f, const char *crate, struct strbuf *versions);

/* Does this word lie in the linker's own list of addresses, in which any may follow any? */
bool scan_is_got(const struct finding *f, uint64_t va);

#endif
