// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is discovered of a program, or of every file that a process has mapped executable. */
#ifndef WALK_CHECKUP_H
#define WALK_CHECKUP_H

#include "base/vec.h"
#include "runtime/discover.h"

/* One file that was looked at. */
struct subject {
	struct discovery *d;
	struct discovery *with_futures; /* NULL: it has no tasks */
	bool is_privileged;		/* setuid, setgid or with capabilities */
};

struct checkup {
	VEC(struct subject) subjects; /* the program first */
	uint32_t pid;		      /* 0: a file was asked for */
	uint32_t nr_without, nr_unreadable;
	char unreadable[1024]; /* the reason for the first of those */
	const char *cache_dir; /* NULL: what was learnt before is not used, and nothing is kept */
};

/* shown: the path for people, NULL: the same. */
bool subject_look(struct subject *s, const char *path, const char *shown, const char *cache_dir,
		  struct err *e);
/* And the inner futures whose polls can be timed. */
void subject_look_futures(struct subject *s, const char *path);
bool subject_has_use(const struct subject *s); /* of some runtime, tasks or roots can be recorded */
/* Looks at every file that the process has mapped executable. */
int checkup_process(struct checkup *c, const char *pid, struct err *e);
void checkup_release(struct checkup *c);

#endif
