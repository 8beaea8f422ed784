// SPDX-License-Identifier: MIT OR Apache-2.0
/* What was discovered of each file, so that a library used by twenty processes is looked at once.
 */
#ifndef CAPTURE_CATALOG_H
#define CAPTURE_CATALOG_H

#include "base/vec.h"
#include "runtime/discover.h"

struct catalog_entry;

struct catalog {
	VEC(struct catalog_entry) entries;
	struct discover_opts opts;
};

void catalog_init(struct catalog *c, const struct discover_opts *opts);
void catalog_release(struct catalog *c);
/* Borrowed until the catalog is released. NULL: it cannot be looked at, the reason is in *e. */
const struct discovery *catalog_get(struct catalog *c, const char *path, const char *shown_path,
				    struct err *e);

#endif
