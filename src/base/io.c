// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int io_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool io_has_proc(void)
{
	struct statfs fs;

	return statfs("/proc", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* A descriptor that we were given may have been made non-blocking by another of its users. */
static bool wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && wait_for_room(fd))
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

int io_pread_all(int fd, void *data, size_t len, uint64_t off)
{
	char *p = data;

	while (len) {
		ssize_t n = pread(fd, p, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0;
		if (n <= 0)
			return -1;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int read_fd(int fd, struct strbuf *out, size_t max, const char *path, struct err *e)
{
	size_t start = out->len;

	for (;;) {
		ssize_t n;

		strbuf_grow(out, 65536);
		n = read(fd, out->s + out->len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "cannot read %s", path);
		out->len += n;
		out->s[out->len] = '\0';
		if (n == 0)
			return 0;
		if (out->len - start > max)
			return err_set(e, ERR_SYS, "%s is larger than expected", path);
	}
}

int io_read_file(const char *path, struct strbuf *out, size_t max, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	rc = read_fd(fd, out, max, path, e);
	close(fd);
	return rc;
}

int io_read_regular_at(int dir, const char *name, struct strbuf *out, size_t max, struct err *e)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0)
		return err_sys(e, "cannot open %s", name);
	if (fstat(fd, &st))
		rc = err_sys(e, "cannot read %s", name);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, ERR_SYS, "%s is not a regular file", name);
	else if ((uint64_t)st.st_size > max)
		rc = err_set(e, ERR_SYS, "%s is larger than expected", name);
	else
		rc = read_fd(fd, out, max, name, e);
	close(fd);
	return rc;
}

int io_create_temporary_at(int dir, const char *prefix, unsigned mode, char **name)
{
	uint64_t random;
	int fd, reason;

	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -1;
		*name = xasprintf("%s.%016llx.tmp", prefix, (unsigned long long)random);
		fd = openat(dir, *name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0) {
			fchmod(fd, mode); /* some file systems have no modes */
			return fd;
		}
		reason = errno;
		free(*name);
		*name = NULL;
		errno = reason;
	} while (errno == EEXIST);
	return -1;
}

int io_replace_at(int dir, const char *name, const void *data, size_t len, unsigned mode,
		  struct err *e)
{
	char *tmp;
	int fd = io_create_temporary_at(dir, name, mode, &tmp), rc;

	if (fd < 0)
		return err_sys(e, "cannot create %s", name);
	rc = io_write_all(fd, data, len);
	if (close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = renameat(dir, tmp, dir, name);
	if (rc < 0) {
		err_sys(e, "cannot write %s", name);
		unlinkat(dir, tmp, 0);
	}
	free(tmp);
	return rc;
}

int io_replace_file(const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	return io_replace_at(AT_FDCWD, path, data, len, mode, e);
}
