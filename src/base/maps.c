// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/util.h"

#define MAX_BYTES (64 << 20)

int maps_open(struct maps *m, uint32_t pid, struct err *e)
{
	char path[64];
	int rc;

	*m = (struct maps){ .text = STRBUF_INIT };
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	rc = io_read_file(path, &m->text, MAX_BYTES, e);
	m->next = rc < 0 ? NULL : m->text.s;
	return rc;
}

void maps_open_text(struct maps *m, const char *text)
{
	*m = (struct maps){ .text = STRBUF_INIT };
	strbuf_addstr(&m->text, text);
	m->next = m->text.s;
}

/* "start-end perms offset major:minor inode path"; the kernel writes a newline in a path as \012 */
static bool parse(const char *text, struct maps_line *line)
{
	int at = 0;

	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &line->addr, &line->end_addr, line->perms, &line->off, &line->major,
		   &line->minor, &line->inode, &at) != 7 ||
	    !at || line->end_addr <= line->addr || strlen(line->perms) != 4)
		return false;
	line->path = text + at;
	return true;
}

bool maps_next(struct maps *m, struct maps_line *line)
{
	while (m->next && *m->next) {
		char *text = m->next, *end = strchr(text, '\n');

		if (end)
			*end = 0;
		m->next = end ? end + 1 : NULL;
		if (parse(text, line))
			return true;
	}
	return false;
}

void maps_close(struct maps *m)
{
	strbuf_release(&m->text);
	m->next = NULL;
}
