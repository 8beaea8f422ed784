// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tells the agents whether the tool is there and able to answer. An agent that waits in a program's
 * start, or in its dlopen, must go on at once when the tool was killed, and soon when it is stuck;
 * but not when it is only slow.
 *
 *	life		a robust futex: the kernel itself marks it when the thread that owns it ends
 *	heartbeat	changes with each round of the session's loop, and every WIRE_BEAT_NS while
 *			that thread uses CPU time: it is stopped with the process, and it does not
 *			change while the loop is blocked in a write
 */
#ifndef CAPTURE_PULSE_H
#define CAPTURE_PULSE_H

#include "wire/region.h"

struct pulse;

/* For the thread that calls it, which must be there as long as the tool works. Never fails: the
 * agents then have the heartbeat of the loop alone. */
struct pulse *pulse_new(struct wire_lobby *page);
/* By the same thread: the tool is gone. NULL is legal. */
void pulse_free(struct pulse *p);

#endif
