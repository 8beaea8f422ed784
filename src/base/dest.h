// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where an output goes. Symbolic links are followed to the file that they lead to, on whatever
 * disk, so that this file is created, replaced or renamed and the link stays. Anything but a
 * regular file (a device, a FIFO, a descriptor such as /dev/fd/3) is written in place: never
 * truncated, replaced or renamed.
 */
#ifndef BASE_DEST_H
#define BASE_DEST_H

#include <stdbool.h>

struct dest {
	char *path;	  /* with links followed; as given if the last component is no link */
	const char *name; /* its last component */
	int dir;	  /* the folder of name; -1: there is none, for it is written as it is */
	int fd; /* open for writing, if it is written in place; a caller that takes it sets -1 */
	bool exists;   /* there is a regular file of that name */
	bool is_empty; /* and it has no bytes */
};

#define DEST_INIT                   \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Waits for the reader of a FIFO, as a shell's redirection does. -1 with errno set: EISDIR for a
 * folder, EBADF for a descriptor that is not open for writing, EACCES also for a link of another
 * user in a folder such as /tmp, as open(2) refuses it where fs.protected_symlinks is set.
 */
int dest_open(struct dest *p, const char *path);
void dest_close(struct dest *p);

#endif
