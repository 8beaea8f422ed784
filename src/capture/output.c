// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? xstrndup(path, slash - path + 1) : xstrdup(".");
	bool found = access(dir, F_OK) == 0;

	free(dir);
	return found;
}

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
		/* Some file systems, such as /proc, refuse new files with this. */
		if (has_directory(path))
			return err_set(e, ERR_SYS,
				       "cannot create %s: no file can be created there; choose "
				       "another place with -o FILE",
				       path);
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

/* Moves what is at path out of the way. A file of no bytes, as mktemp(1) makes, is nothing to keep.
 */
static int rotate(struct output *o, const char *path, const struct stat *st)
{
	int reason;

	if (st->st_size == 0)
		return unlink(path);
	o->old_path = xasprintf("%s.old", path);
	o->older_path = xasprintf("%s.old.tmp", path);
	if (rename(o->old_path, o->older_path)) {
		free(o->older_path);
		o->older_path = NULL;
	}
	if (rename(path, o->old_path) == 0)
		return 0;
	reason = errno;
	if (o->older_path)
		rename(o->older_path, o->old_path);
	free(o->old_path);
	free(o->older_path);
	o->old_path = o->older_path = NULL;
	errno = reason;
	return -1;
}

static int put_back(struct output *o, const char *path)
{
	int rc = 0;

	if (o->old_path)
		rc = rename(o->old_path, path);
	if (o->older_path && rename(o->older_path, o->old_path))
		rc = -1;
	free(o->older_path);
	o->older_path = NULL;
	return rc;
}

int output_open(struct output *o, const char *path, struct err *e)
{
	struct stat st;

	*o = (struct output)OUTPUT_INIT;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && rotate(o, path, &st)) {
		explain(path, e);
		goto fail;
	}
	o->fd = open(path, O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_WRONLY, 0600);
	if (o->fd < 0 || fstat(o->fd, &st)) {
		explain(path, e);
		goto fail;
	}
	o->path = xstrdup(path);
	o->is_regular = S_ISREG(st.st_mode);
	return 0;
fail:
	put_back(o, path);
	output_release(o);
	return -1;
}

int output_rewind(struct output *o)
{
	if (!o->is_regular || ftruncate(o->fd, 0) || lseek(o->fd, 0, SEEK_SET))
		return -1;
	return 0;
}

void output_settle(struct output *o)
{
	if (o->older_path)
		unlink(o->older_path);
	free(o->older_path);
	o->older_path = NULL;
}

int output_undo(struct output *o)
{
	int rc = 0;

	if (o->fd >= 0 && o->is_regular)
		rc = unlink(o->path) | put_back(o, o->path);
	output_release(o);
	return rc;
}

void output_release(struct output *o)
{
	output_settle(o);
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->old_path);
	*o = (struct output)OUTPUT_INIT;
}
