// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? xstrndup(path, slash - path + 1) : xstrdup(".");
}

static bool has_directory(const char *path)
{
	char *dir = directory_of(path);
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
	case EMFILE:
		return err_sys(e, "cannot create %s", path);
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

/* A trace with nothing but meta in it, as bytes; none if there is no memory for a file. */
static void pack_trace(const struct trace_meta *meta, struct strbuf *out)
{
	int fd = memfd_create("futrace-first", MFD_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return;
	/* The writer closes its descriptor. */
	rc = trace_writer_close(trace_writer_new(fcntl(fd, F_DUPFD_CLOEXEC, 3), meta), NULL, NULL);
	if (rc == 0 && fstat(fd, &st) == 0) {
		strbuf_grow(out, st.st_size);
		if (io_pread_all(fd, out->s, st.st_size, 0) == 0)
			out->len = st.st_size;
	}
	close(fd);
}

/*
 * A new file has its first bytes before it has its name. -1: the name is taken, or the file system
 * has no files without one; open(2) says what else is wrong.
 */
static int create(const struct output *o, const char *path)
{
	char *dir = directory_of(path), self[32];
	int fd = o->first.len ? open(dir, O_TMPFILE | O_CLOEXEC | O_WRONLY, 0600) : -1;

	free(dir);
	if (fd < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (io_write_all(fd, o->first.s, o->first.len) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return fd;
	close(fd);
	return -1;
}

int output_open(struct output *o, const char *path, const struct trace_meta *first, struct err *e)
{
	struct stat st;

	*o = (struct output)OUTPUT_INIT;
	if (first)
		pack_trace(first, &o->first);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && rotate(o, path, &st)) {
		explain(path, e);
		goto fail;
	}
	o->fd = create(o, path);
	if (o->fd < 0)
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
	ssize_t len = o->first.len;

	if (!o->is_regular || pwrite(o->fd, o->first.s, len, 0) != len || ftruncate(o->fd, len) ||
	    lseek(o->fd, 0, SEEK_SET))
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
	strbuf_release(&o->first);
	*o = (struct output)OUTPUT_INIT;
}
