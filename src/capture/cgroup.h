// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How much memory a process may still take by the limits of its control groups. Shared memory
 * counts for the group of the process that touches it first, and a group that goes beyond its limit
 * loses a process to the kernel.
 */
#ifndef CAPTURE_CGROUP_H
#define CAPTURE_CGROUP_H

#include <stdint.h>

#define CGROUP_NO_LIMIT UINT64_MAX

struct cgroup_memory {
	uint64_t limit_bytes; /* the smallest of its group and those above; CGROUP_NO_LIMIT: none */
	uint64_t free_bytes; /* the smallest rest of any of them; file pages in no use count as free
			      */
};

/*
 * Both versions of control groups, also side by side, as far as this process can see them. root:
 * put before every path, "" but in tests. Whatever cannot be read is taken for no limit.
 */
void cgroup_memory(const char *root, uint32_t pid, struct cgroup_memory *m);

/* What a recording of the process should take at most for all that grows with its events: a part
 * of the machine, of the smallest limit, and of what is left below it. own_bytes: what of it is
 * taken already. */
uint64_t cgroup_share(const char *root, uint32_t pid, uint64_t own_bytes);

#endif
