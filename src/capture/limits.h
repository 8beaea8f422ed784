// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Limits that count for futrace as well as for CMD, but are meant for CMD: what a recording opens
 * and how large it gets comes beside that. So futrace raises its own as far as it may, and CMD gets
 * those that futrace was started with.
 */
#ifndef CAPTURE_LIMITS_H
#define CAPTURE_LIMITS_H

#include <sys/resource.h>

struct limits {
	struct rlimit files;	  /* open at a time */
	struct rlimit file_bytes; /* of a file, and so of the shared memory for events */
};

/* Ours from now on are as high as may be; *before is what they were. */
void limits_raise(struct limits *before);
/* Only calls what is allowed after fork. */
void limits_restore(const struct limits *before);

#endif
