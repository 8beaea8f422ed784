// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/whois.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define MAX_BYTES (64 << 20)

static bool read_proc(uint32_t pid, const char *name, struct strbuf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	strbuf_reset(text);
	return io_read_file(path, text, MAX_BYTES, NULL) == 0;
}

/* The last number of its line is the one in the innermost namespace. */
static bool calls_itself(uint32_t pid, uint32_t own, struct strbuf *text)
{
	unsigned last = 0;
	char *line, *end;

	if (!read_proc(pid, "status", text))
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

/* address perms offset dev inode path */
static bool has_mapped(const struct strbuf *maps, uint64_t inode)
{
	for (const char *line = maps->s; line && *line; line = strchr(line, '\n')) {
		uint64_t number;

		line += *line == '\n';
		if (sscanf(line, "%*s %*s %*s %*s %" SCNu64, &number) == 1 && number == inode)
			return true;
	}
	return false;
}

static uint32_t search(uint32_t own, uint64_t inode, struct strbuf *text)
{
	DIR *proc = opendir("/proc");
	uint32_t found = 0;
	struct dirent *d;

	while (proc && !found && (d = readdir(proc))) {
		uint32_t pid = strtoul(d->d_name, NULL, 10);

		if (pid && pid != own && calls_itself(pid, own, text) &&
		    read_proc(pid, "maps", text) && has_mapped(text, inode))
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

	if (!read_proc(pid, "maps", &text) || !has_mapped(&text, inode) ||
	    !calls_itself(pid, pid, &text))
		found = search(pid, inode, &text);
	strbuf_release(&text);
	return found ? found : pid;
}
