// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The file that a recording goes to: created 0600, an existing regular file of that name becomes
 * NAME.old. A device or a FIFO is written as it is.
 *
 * A NAME.old from before waits under another name until it is settled that the new file stays, so
 * that everything can be put back as it was.
 */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

#include "base/err.h"

struct output {
	char *path;
	char *old_path;	  /* what stood there before, or NULL */
	char *older_path; /* what stood at old_path before that, or NULL */
	int fd;		  /* -1: not open */
	bool is_regular;
};

#define OUTPUT_INIT      \
	{                \
		.fd = -1 \
	}

/* Waits for the reader of a FIFO, as a shell's redirection does. */
int output_open(struct output *o, const char *path, struct err *e);
/* Forgets what was written. -1 when that is impossible. */
int output_rewind(struct output *o);
/* The file stays, so the one before the last is not needed again. May be called often. */
void output_settle(struct output *o);
/* Closes it as if it had never been opened: removes the file, brings back the old ones. -1: they
 * could not be moved. */
int output_undo(struct output *o);
void output_release(struct output *o); /* closes, settles, keeps the file */

#endif
