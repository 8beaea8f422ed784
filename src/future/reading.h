// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Everything that a recording takes from an ELF file, as plain facts: what was discovered, and how
 * futures are followed. A worker process reads the file (base/worker.h) and answers with these
 * facts as bytes; the same bytes are what is remembered of the file.
 */
#ifndef FUTURE_READING_H
#define FUTURE_READING_H

#include "base/strbuf.h"
#include "future/recipe.h"
#include "runtime/discover.h"
#include "symbol/fingerprint.h"

/* What root future begins in a function, and where it lies. */
struct reading_root {
	struct wire_framed plan; /* addresses and recipe count from the object's own */
	uint32_t runtime;
	uint32_t type; /* index into root_types; RECIPE_NO_TYPE: others tell */
};

struct reading_root_type {
	uint32_t runtime;
	const char *name, *file; /* file: "" when unknown */
	uint32_t line;
	uint64_t size_bytes;
};

/* A file that was looked for, and what was there: a separate file with debug info. */
struct reading_need {
	const char *path;
	struct fingerprint was;
};

struct reading {
	enum discover_depth depth; /* for the reader of the answer: it is not part of it */
	struct discovery *d;	   /* its tables' recipe and local_off are filled in */
	struct recipes recipes;	   /* without nodes: debug info does not describe types */
	uint32_t root_local_off;   /* of its root futures: as in wire_redirect */
	VEC(struct reading_root) roots;
	VEC(struct reading_root_type) root_types;
	VEC(struct reading_need) needs;
	struct intern *strings; /* NULL: they are others' */
	char *data;		/* that most strings lie in; NULL: the same */
};

struct reading_opts {
	struct discover_opts discover;
	bool awaits; /* how to follow futures, too */
	/* The separate debug file that the reader's limits are made for, too; NULL: none. */
	const char *debug_path;
};

/*
 * Reads the file and appends the facts to `answer`. Errors as of discover_file: the answer tells
 * them as well.
 *
 * A separate debug file may be a hundred times as large as its program. If it is large, and not
 * known to the caller in o->debug_path, the answer is only its path: see reading_wanted.
 */
void reading_make(const char *path, const char *shown_path, const struct reading_opts *o,
		  struct strbuf *answer);
/* The debug file that has to be in reading_opts, NULL: the answer is another. To be freed. */
char *reading_wanted(const struct strbuf *answer);
/*
 * Takes the data. NULL: the answer is broken (*e is not set), or the file could not be looked at
 * and *e says why.
 */
struct reading *reading_unpack(struct strbuf *data, struct err *e);
void reading_free(struct reading *r);

/* What such an answer is remembered under, with the file's own fingerprint. The caller frees it. */
char *reading_key(const struct fingerprint *f, const struct reading_opts *o);
/* Is everything that it was made of still as it was? */
bool reading_is_fresh(const struct reading *r);

#endif
