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
#include "trace/alive.h"

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
	case EBADF:
		return err_set(e, ERR_SYS,
			       "cannot write %s: this descriptor is not open for writing", path);
	case EMFILE:
		return err_sys(e, "cannot create %s", path);
	case EISDIR:
		return err_set(e, ERR_SYS, "%s is a directory; name a file with -o FILE", path);
	default:
		return err_sys(e, "cannot create %s (choose another place with -o FILE)", path);
	}
}

/* Moves what is there out of the way. A file of no bytes, as mktemp(1) makes, is nothing to keep.
 */
static int rotate(struct output *o)
{
	const char *name = o->dest.name;
	int dir = o->dest.dir, reason;

	if (o->dest.is_empty)
		return unlinkat(dir, name, 0);
	o->old_name = xasprintf("%s.old", name);
	o->older_name = xasprintf("%s.old.tmp", name);
	if (renameat(dir, o->old_name, dir, o->older_name)) {
		free(o->older_name);
		o->older_name = NULL;
	}
	if (renameat(dir, name, dir, o->old_name) == 0)
		return 0;
	reason = errno;
	if (o->older_name)
		renameat(dir, o->older_name, dir, o->old_name);
	free(o->old_name);
	free(o->older_name);
	o->old_name = o->older_name = NULL;
	errno = reason;
	return -1;
}

static int put_back(struct output *o)
{
	int dir = o->dest.dir, rc = 0;

	if (o->old_name)
		rc = renameat(dir, o->old_name, dir, o->dest.name);
	if (rc == 0 && o->older_name && renameat(dir, o->older_name, dir, o->old_name))
		rc = -1;
	free(o->older_name);
	o->older_name = NULL;
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
 * A new file has its first bytes before it has its name. -1: the file system has no files without
 * one, or something is wrong that open(2) explains.
 */
static int create_whole(const struct output *o)
{
	int dir = o->dest.dir;
	int fd = o->first.len ? openat(dir, ".", O_TMPFILE | O_CLOEXEC | O_WRONLY, 0600) : -1;
	char self[32];

	if (fd < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	fchmod(fd, 0600);
	alive_mark(fd);
	if (io_write_all(fd, o->first.s, o->first.len) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    linkat(AT_FDCWD, self, dir, o->dest.name, AT_SYMLINK_FOLLOW) == 0)
		return fd;
	close(fd);
	return -1;
}

/* From its first moment the file shows that it is being written. */
static int create(const struct output *o)
{
	int fd = create_whole(o);

	if (fd >= 0)
		return fd;
	fd = openat(o->dest.dir, o->dest.name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY,
		    0600);
	if (fd >= 0) {
		fchmod(fd, 0600); /* whatever the umask; some file systems have no modes */
		alive_mark(fd);
	}
	return fd;
}

int output_open(struct output *o, const char *path, const struct trace_meta *first, struct err *e)
{
	*o = (struct output)OUTPUT_INIT;
	if (dest_open(&o->dest, path))
		return explain(path, e);
	o->path = xstrdup(path);
	if (o->dest.fd >= 0) {
		o->fd = o->dest.fd;
		o->dest.fd = -1;
		if (!isatty(o->fd))
			return 0;
		output_release(o);
		return err_set(e, ERR_SYS,
			       "%s is a terminal, and a recording is not text; name a file with "
			       "-o FILE",
			       path);
	}
	if (first)
		pack_trace(first, &o->first);
	if (o->dest.exists && rotate(o)) {
		explain(path, e);
		output_release(o);
		return -1;
	}
	o->fd = create(o);
	if (o->fd < 0) {
		explain(path, e);
		put_back(o);
		output_release(o);
		return -1;
	}
	o->is_regular = true;
	return 0;
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
	if (o->older_name)
		unlinkat(o->dest.dir, o->older_name, 0);
	free(o->older_name);
	o->older_name = NULL;
}

int output_undo(struct output *o)
{
	int rc = 0;

	if (o->fd >= 0 && o->is_regular)
		rc = unlinkat(o->dest.dir, o->dest.name, 0) | put_back(o);
	output_release(o);
	return rc;
}

void output_release(struct output *o)
{
	output_settle(o);
	if (o->fd >= 0)
		close(o->fd);
	dest_close(&o->dest);
	free(o->path);
	free(o->old_name);
	strbuf_release(&o->first);
	*o = (struct output)OUTPUT_INIT;
}
