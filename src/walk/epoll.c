// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which file descriptor is meant by what a runtime waits for: an epoll set knows each descriptor by
 * a number that the program chose, and runtimes choose the address of the object that waits.
 */
#include "walk/epoll.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

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

static bool is_set(uint32_t pid, const char *fd)
{
	char path[64], target[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/fd/%.16s", pid, fd);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = 0;
	return strcmp(target, "anon_inode:[eventpoll]") == 0;
}

void epoll_find(uint32_t pid, struct map *fds)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!is_set(pid, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.16s", pid, entry->d_name);
		add_set(fds, path);
	}
	if (dir)
		closedir(dir);
}
