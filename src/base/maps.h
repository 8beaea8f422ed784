// SPDX-License-Identifier: MIT OR Apache-2.0
/* /proc/PID/maps: what a process has mapped, a line each. Lines that are broken are skipped. */
#ifndef BASE_MAPS_H
#define BASE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct maps_line {
	uint64_t addr, end_addr, off, inode;
	unsigned major, minor;
	char perms[5];	  /* "r-xp" */
	const char *path; /* "[stack]", "" where there is none; lives until maps_close */
};

struct maps {
	struct strbuf text;
	char *next;
};

/* Fails as io_read_file does, with errno; maps_close is legal all the same. */
int maps_open(struct maps *m, uint32_t pid, struct err *e);
/* Parses a copy of such a text, which need not be a process's. */
void maps_open_text(struct maps *m, const char *text);
bool maps_next(struct maps *m, struct maps_line *line);
void maps_close(struct maps *m);

#endif
