// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How a process ended that is not our child. Nobody but its parent is told; but while it waits to
 * be collected its stat file says so, and afterwards, from Linux 6.15 on, its pidfd does.
 */
#ifndef CAPTURE_EXIT_CODE_H
#define CAPTURE_EXIT_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a process that is dead: its status as by wait. False: it is not to be known. */
bool exit_code_get(int pidfd, uint32_t pid, int *wait_status);

#endif
