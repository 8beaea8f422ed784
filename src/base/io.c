// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int io_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
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

int io_replace_file(const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	char *tmp = xasprintf("%s.%d.tmp", path, (int)getpid());
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode), rc = -1;

	if (fd < 0) {
		err_sys(e, "cannot create %s", tmp);
		goto out;
	}
	rc = io_write_all(fd, data, len);
	if (close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = rename(tmp, path);
	if (rc < 0) {
		err_sys(e, "cannot write %s", path);
		unlink(tmp);
	}
out:
	free(tmp);
	return rc;
}
