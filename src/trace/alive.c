// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace/alive.h"

#include <fcntl.h>
#include <unistd.h>

/* Locks of the open file, not of the process: those go when any of its descriptors is closed. */
void alive_mark(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_OFD_SETLK, &lock);
}

bool alive_is_marked(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
