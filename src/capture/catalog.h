// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What was read of each file, so that a library used by twenty processes is read once. Workers read
 * (symbol/reader.h); if one dies of a file, the next one reads less of it.
 */
#ifndef CAPTURE_CATALOG_H
#define CAPTURE_CATALOG_H

#include "base/vec.h"
#include "base/worker.h"
#include "future/lines.h"
#include "future/reading.h"

struct catalog_entry;

struct catalog {
	VEC(struct catalog_entry) entries;
	struct reading_opts opts;
	struct worker_meanwhile meanwhile;
	/* Says that less is recorded of a file, and why; NULL: nobody listens. */
	void (*note)(void *arg, const char *text);
	void *note_arg;
};

void catalog_init(struct catalog *c, const struct reading_opts *opts);
void catalog_release(struct catalog *c);
/* Borrowed until the catalog is released. NULL: it cannot be looked at, the reason is in *e. */
const struct reading *catalog_get(struct catalog *c, const char *path, const char *shown_path,
				  struct err *e);
/*
 * Which lines addresses of that file stand for; fd is open on it. Sorts the request. The caller
 * frees them; NULL: they could not be read.
 */
struct lines *catalog_lines(const struct catalog *c, const struct reading *r, int fd,
			    struct lines_request *q);
/* For a note: "text", if there is somebody who listens. */
void catalog_note(const struct catalog *c, const char *fmt, ...) PRINTF(2, 3);

#endif
