// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The file that a recording goes to: created 0600 whatever the umask, in the folder where it really
 * is if FILE is a link (base/dest.h); an existing regular file becomes NAME.old there. A device, a
 * FIFO or a descriptor is written as it is.
 *
 * A NAME.old from before waits under another name until it is settled that the new file stays, so
 * that everything can be put back as it was.
 *
 * A recording that is killed before there is something to write leaves a recording that was cut,
 * not an empty file: a regular file has first bytes from its beginning. What is written overwrites
 * them.
 */
#ifndef CAPTURE_OUTPUT_H
#define CAPTURE_OUTPUT_H

#include "base/dest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "trace/writer.h"

struct output {
	char *path; /* as given */
	struct dest dest;
	char *old_name;	  /* what stood there before, or NULL */
	char *older_name; /* what stood at old_name before that, or NULL */
	struct strbuf first;
	int fd;		 /* -1: not open */
	bool is_regular; /* a file of its own: can be rewound and removed, has others beside it */
};

#define OUTPUT_INIT                                               \
	{                                                         \
		.dest = DEST_INIT, .first = STRBUF_INIT, .fd = -1 \
	}

/* Waits for the reader of a FIFO, as a shell's redirection does. first: what a cut recording tells;
 * must be shorter than what is written later. NULL: the file is empty until then. */
int output_open(struct output *o, const char *path, const struct trace_meta *first, struct err *e);
/* Forgets what was written, but for the first bytes. -1 when that is impossible. */
int output_rewind(struct output *o);
/* The file stays, so the one before the last is not needed again. May be called often. */
void output_settle(struct output *o);
/* Closes it as if it had never been opened: removes the file, brings back the old ones. -1: they
 * could not be moved. */
int output_undo(struct output *o);
void output_release(struct output *o); /* closes, settles, keeps the file */

#endif
