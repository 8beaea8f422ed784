// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A file that takes the place of an older one when it is whole. Until then it has a name of its
 * own beside it, and goes when something fails or a signal ends us. Links are followed, and what is
 * no regular file (a pipe, /dev/null, /dev/stdout) is written as it is (base/dest.h).
 */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include "base/dest.h"
#include "base/err.h"

struct replace {
	struct dest dest;
	char *temporary; /* path of the file that is written; NULL: it is written as it is */
	int fd;
};

/* Only its owner may read the new file. One at a time. */
int replace_open(struct replace *r, const char *path, struct err *e);
/* What must not stay behind goes, now: for an end without replace_close. Allocates nothing. */
void replace_abandon(void);
/* is_good: it is whole. -1: it could not be put in place, and is gone. */
int replace_close(struct replace *r, bool is_good, struct err *e);

#endif
