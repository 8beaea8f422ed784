// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How long threads had a CPU, and how long they wished for one: the kernel counts both, and tells
 * them to whoever may look at the process. A poll that takes long without either was in a call that
 * blocks, whichever it was.
 */
#ifndef CAPTURE_CPU_H
#define CAPTURE_CPU_H

#include "capture/process.h"

/* Asks about threads that did something since they were last asked about, a bounded number of them;
 * to be called a few times a second. The file must be begun. */
void cpu_count_threads(struct process *p);

#endif
