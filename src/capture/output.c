// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int explain(const char *path, struct err *e)
{
	switch (errno) {
	case EACCES:
	case EPERM:
		return err_set(e, ERR_PERMISSION,
			       "cannot create %s: no permission; choose another place with -o FILE",
			       path);
	case EROFS:
		return err_set(
			e, ERR_SYS,
			"cannot create %s: the file system is read-only; choose another place "
			"with -o FILE",
			path);
	case ENOENT:
		return err_set(
			e, ERR_SYS,
			"cannot create %s: its directory does not exist; create it or choose "
			"another place with -o FILE",
			path);
	case EISDIR:
		return err_set(e, ERR_SYS, "%s is a directory; name a file with -o FILE", path);
	default:
		return err_sys(e, "cannot create %s (choose another place with -o FILE)", path);
	}
}

int output_open(struct output *o, const char *path, struct err *e)
{
	struct stat st;

	*o = (struct output)OUTPUT_INIT;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		o->old_path = xasprintf("%s.old", path);
		if (rename(path, o->old_path)) {
			explain(path, e);
			goto fail;
		}
	}
	/* Read as well: then a FIFO without a reader does not block, and a reader that leaves is no
	 * SIGPIPE. */
	o->fd = open(path, O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_RDWR, 0600);
	if (o->fd < 0 && errno == EACCES)
		o->fd = open(path, O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_WRONLY, 0600);
	if (o->fd < 0 || fstat(o->fd, &st)) {
		explain(path, e);
		if (o->old_path)
			rename(o->old_path, path);
		goto fail;
	}
	o->path = xstrdup(path);
	o->is_regular = S_ISREG(st.st_mode);
	return 0;
fail:
	output_release(o);
	return -1;
}

int output_rewind(struct output *o)
{
	if (!o->is_regular || ftruncate(o->fd, 0) || lseek(o->fd, 0, SEEK_SET))
		return -1;
	return 0;
}

void output_undo(struct output *o)
{
	if (o->fd >= 0 && o->is_regular) {
		unlink(o->path);
		if (o->old_path)
			rename(o->old_path, o->path);
	}
	output_release(o);
}

void output_release(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->old_path);
	*o = (struct output)OUTPUT_INIT;
}
