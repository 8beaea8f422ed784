// SPDX-License-Identifier: MIT OR Apache-2.0
/* Puts a program's own pointers back into its hooked tables, from outside. */
#ifndef CAPTURE_UNHOOK_H
#define CAPTURE_UNHOOK_H

#include "capture/process.h"

/*
 * Returns how many slots were restored. Only slots that point into the agent (the file agent_path)
 * are touched. What the kernel does not permit is left alone: the hooks then pass everything
 * through.
 */
unsigned unhook_process(const struct process *p, const char *agent_path);

#endif
