// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where a writer's blocks go: a file, or a reader in the same process (trace_get_sink), which so
 * has what the file has, in the same order. This is the seam between what records and what reads.
 */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include "base/err.h"

struct trace_sink {
	/*
	 * Takes whole blocks; the file's header comes together with the first one. After -1 it is
	 * not called again but for close.
	 */
	int (*write)(struct trace_sink *s, const void *bytes, size_t len, struct err *e);
	/* No more will come. */
	int (*close)(struct trace_sink *s, struct err *e);
};

#endif
