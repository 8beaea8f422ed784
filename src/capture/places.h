// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where tasks were spawned. The agent leaves the stacks in the region as return addresses; here
 * they become lines of source, by debug info, once the recording is over.
 */
#ifndef CAPTURE_PLACES_H
#define CAPTURE_PLACES_H

#include "capture/process.h"

/* Writes the place of each stack that has one to the process's file. */
void places_write(struct process *p);

#endif
