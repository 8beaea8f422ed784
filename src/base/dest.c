// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/dest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"

#define MAX_LINKS 40 /* as many as the kernel follows */

/* "dir/" of "dir/name", "./" of "name"; to be freed. */
static char *folder_of(const char *path, const char *name)
{
	return name == path ? xstrdup("./") : xstrndup(path, name - path);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_in_proc(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static bool is_same_folder(const char *a, const char *b)
{
	char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
	bool is_same = real_a && real_b && strcmp(real_a, real_b) == 0;

	free(real_a);
	free(real_b);
	return is_same;
}

/* The number of one of our own descriptors, or -1. */
static int descriptor_of(const char *path, const char *name)
{
	char *folder = folder_of(path, name), *end;
	long n = strtol(name, &end, 10);
	bool is_one = *name >= '0' && *name <= '9' && !*end && n <= INT_MAX &&
		      (is_same_folder(folder, "/proc/self/fd") ||
		       is_same_folder(folder, "/proc/thread-self/fd"));

	free(folder);
	return is_one ? (int)n : -1;
}

/*
 * A copy, not opened again by name: it shares the position in a file, and a socket or another
 * user's pipe could not be opened. Whatever this program itself has opened is closed on exec, and
 * the process that started it cannot have meant that.
 */
static int copy_descriptor(int n)
{
	int flags = fcntl(n, F_GETFD), mode = fcntl(n, F_GETFL);

	if (flags < 0 || mode < 0 || flags & FD_CLOEXEC || (mode & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	return fcntl(n, F_DUPFD_CLOEXEC, 3);
}

/* A link that the kernel refuses to follow is not followed here either. */
static bool may_follow(int dir, const struct stat *link)
{
	struct stat st;

	if (fstat(dir, &st))
		return false;
	return (st.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
	       link->st_uid == geteuid() || link->st_uid == st.st_uid;
}

/* p->path becomes where the link leads to. */
static int follow(struct dest *p, const struct stat *link)
{
	char target[PATH_MAX], *folder, *path;
	ssize_t len = readlinkat(p->dir, p->name, target, sizeof(target) - 1);

	if (len < 0)
		return -1;
	if (!may_follow(p->dir, link)) {
		errno = EACCES;
		return -1;
	}
	target[len] = '\0';
	folder = *target == '/' ? xstrdup("") : folder_of(p->path, p->name);
	path = xasprintf("%s%s", folder, target);
	free(folder);
	free(p->path);
	p->path = path;
	return 0;
}

/* Opened to be created where there is nothing, so that the kernel refuses the FIFO of another user
 * in /tmp (fs.protected_fifos). */
static int open_special(struct dest *p, int flags)
{
	p->fd = openat(p->dir, p->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags, 0600);
	return p->fd < 0 ? -1 : 0;
}

/* 1: it was a link, and must be examined again. */
static int look(struct dest *p)
{
	char *folder;
	struct stat st;
	int own;

	p->name = name_of(p->path);
	folder = folder_of(p->path, p->name);
	p->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (p->dir < 0)
		return -1;
	if (!*p->name) {
		errno = *p->path ? EISDIR : ENOENT;
		return -1;
	}
	if (is_in_proc(p->dir)) {
		own = descriptor_of(p->path, p->name);
		p->fd = own < 0 ? -1 : copy_descriptor(own);
		if (own >= 0)
			return p->fd < 0 ? -1 : 0;
		return open_special(p, O_APPEND); /* another process's: a link here is no path */
	}
	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -1;
	if (S_ISLNK(st.st_mode))
		return follow(p, &st) ? -1 : 1;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	p->exists = S_ISREG(st.st_mode);
	p->is_empty = p->exists && st.st_size == 0;
	return p->exists ? 0 : open_special(p, O_CREAT | O_NOFOLLOW);
}

int dest_open(struct dest *p, const char *path)
{
	int rc, reason;

	*p = (struct dest)DEST_INIT;
	p->path = xstrdup(path);
	for (int i = 0; (rc = look(p)) > 0; i++) {
		close(p->dir);
		p->dir = -1;
		if (i == MAX_LINKS) {
			errno = ELOOP;
			rc = -1;
			break;
		}
	}
	reason = errno;
	if (p->dir >= 0 && (rc < 0 || p->fd >= 0)) {
		close(p->dir);
		p->dir = -1;
	}
	if (rc < 0)
		dest_close(p);
	errno = reason;
	return rc;
}

void dest_close(struct dest *p)
{
	if (p->dir >= 0)
		close(p->dir);
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	*p = (struct dest)DEST_INIT;
}
