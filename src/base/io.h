// SPDX-License-Identifier: MIT OR Apache-2.0
/* Files: whole reads and writes that survive EINTR and short counts. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/err.h"
#include "base/strbuf.h"

/* Opens for reading, at once: a pipe may have no writer. -1 with errno set. */
int io_open(const char *path);
/* Is /proc there? In some containers and chroots it is not. */
bool io_has_proc(void);
/* All of len bytes, or -1 with errno set. */
int io_write_all(int fd, const void *data, size_t len);
int io_pread_all(int fd, void *data, size_t len,
		 uint64_t off); /* -1 also at a premature end (errno 0) */
/* Appends the whole file to out; at most max bytes, more is an error. */
int io_read_file(const char *path, struct strbuf *out, size_t max, struct err *e);
/*
 * The same of a regular file of that name in the folder dir; a link, a FIFO or a device is an
 * error, at once. max bounds what is read, too.
 */
int io_read_regular_at(int dir, const char *name, struct strbuf *out, size_t max, struct err *e);
/*
 * Writes path by a temporary file and rename, so that no reader ever sees half of it. The mode is
 * the file's, whatever the umask. The temporary name is random and new, so nothing that already
 * exists is written through.
 */
int io_replace_file(const char *path, const void *data, size_t len, unsigned mode, struct err *e);
int io_replace_at(int dir, const char *name, const void *data, size_t len, unsigned mode,
		  struct err *e);
/* Creates a file that did not exist, named prefix and a random suffix; *name is to be freed. -1
 * with errno set. */
int io_create_temporary_at(int dir, const char *prefix, unsigned mode, char **name);

#endif
