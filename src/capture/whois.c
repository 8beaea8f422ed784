// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/whois.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/maps.h"

#define MAX_BYTES (1 << 20)

static bool read_status(uint32_t pid, struct strbuf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	strbuf_reset(text);
	return io_read_file(path, text, MAX_BYTES, NULL) == 0;
}

/* The last number of its line is the one in the innermost namespace. */
static bool calls_itself(uint32_t pid, uint32_t own, struct strbuf *text)
{
	unsigned last = 0;
	char *line, *end;

	if (!read_status(pid, text))
		return false;
	line = strstr(text->s, "\nNSpid:");
	if (!line) /* a kernel without such namespaces */
		return pid == own;
	for (line += strlen("\nNSpid:"); *line && *line != '\n'; line = end) {
		last = strtoul(line, &end, 10);
		end += strspn(end, "\t ");
	}
	return last == own;
}

static bool has_mapped(uint32_t pid, uint64_t inode)
{
	struct maps_line line;
	struct maps maps;
	bool found = false;

	maps_open(&maps, pid, NULL);
	while (!found && maps_next(&maps, &line))
		found = line.inode == inode;
	maps_close(&maps);
	return found;
}

static uint32_t search(uint32_t own, uint64_t inode, struct strbuf *text)
{
	DIR *proc = opendir("/proc");
	uint32_t found = 0;
	struct dirent *d;

	while (proc && !found && (d = readdir(proc))) {
		uint32_t pid = strtoul(d->d_name, NULL, 10);

		if (pid && pid != own && calls_itself(pid, own, text) && has_mapped(pid, inode))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

uint32_t whois_find(uint32_t pid, uint64_t inode)
{
	struct strbuf text = STRBUF_INIT;
	uint32_t found = 0;

	if (!has_mapped(pid, inode) || !calls_itself(pid, pid, &text))
		found = search(pid, inode, &text);
	strbuf_release(&text);
	return found ? found : pid;
}
