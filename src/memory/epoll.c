// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which file descriptor is meant by what a runtime waits for: an epoll set knows each descriptor by
 * a number that the program chose, and runtimes choose the address of the object that waits. And
 * what such a descriptor is: a runtime's types do not always tell a pipe from a socket.
 */
#include "memory/epoll.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/util.h"

#define MAX_INFO (64 << 20)

/* "tfd: 9 events: 8000201d data: 55d5aa2231c0 pos:0 ino:…" */
static void add_set(struct map *fds, const char *path)
{
	struct strbuf info = STRBUF_INIT;
	unsigned long long data;
	unsigned fd;

	io_read_file(path, &info, MAX_INFO, NULL);
	for (const char *line = info.s; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "tfd: %u events: %*x data: %llx", &fd, &data) == 2)
			*map_put(fds, data, NULL) = fd;
	}
	strbuf_release(&info);
}

/* A named pipe has the path of a file. */
static enum fd_kind kind_of(const char *path, const char *target)
{
	struct stat st;

	if (str_has_prefix(target, "socket:["))
		return FD_SOCKET;
	if (str_has_prefix(target, "pipe:["))
		return FD_PIPE;
	return target[0] == '/' && stat(path, &st) == 0 && S_ISFIFO(st.st_mode) ? FD_PIPE : FD_FILE;
}

/* Notes what a descriptor is. True: an epoll set. */
static bool add_kind(struct map *kinds, uint32_t pid, const char *fd)
{
	char path[64], target[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%.16s", pid, fd);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = 0;
	*map_put(kinds, strtoul(fd, NULL, 10), NULL) = kind_of(path, target);
	return strcmp(target, "anon_inode:[eventpoll]") == 0;
}

void epoll_find(uint32_t pid, struct map *fds, struct map *kinds)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!add_kind(kinds, pid, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.16s", pid, entry->d_name);
		add_set(fds, path);
	}
	if (dir)
		closedir(dir);
}
