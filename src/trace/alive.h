// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Whether a trace file is still being written. The writer holds a lock on the open file, which the
 * kernel releases when the writer ends, however it ends. The lock keeps no one from reading.
 */
#ifndef TRACE_ALIVE_H
#define TRACE_ALIVE_H

#include <stdbool.h>

/* fd: open for writing. Where the file system has no locks, nothing happens. */
void alive_mark(int fd);
/* fd: open for reading, of another open(2). */
bool alive_is_marked(int fd);

#endif
