// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The file that a recording goes to: created 0600, an existing regular file of that name becomes
 * NAME.old. A device or a FIFO is written as it is.
 */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

#include "base/err.h"

struct output {
	char *path;
	char *old_path; /* what stood there before, or NULL */
	int fd;		/* -1: not open */
	bool is_regular;
};

#define OUTPUT_INIT      \
	{                \
		.fd = -1 \
	}

int output_open(struct output *o, const char *path, struct err *e);
/* Forgets what was written. -1 when that is impossible. */
int output_rewind(struct output *o);
/* Closes it as if it had never been opened: removes the file, brings back the old one. */
void output_undo(struct output *o);
void output_release(struct output *o); /* closes, keeps the file */

#endif
