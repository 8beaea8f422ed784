// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Signals to futrace while CMD runs. A Ctrl-C reaches the whole foreground group, CMD included;
 * what somebody sends to futrace alone is meant for CMD and has to be passed on. Who sent it tells
 * which. Process-wide by nature, so there is one set of them.
 */
#ifndef CAPTURE_SIGNALS_H
#define CAPTURE_SIGNALS_H

#include <sys/types.h>

#include "base/util.h"

/* First of all: what ends a program that writes is an error of that write. */
void signals_ignore(void);
void signals_catch(void);
/* From now on each signal rings this doorbell as well, so that nobody sleeps over it. NULL: no
 * more. */
void signals_ring(uint32_t *doorbell);
/* As everything was before. Also to be called in the child: only calls what is allowed after fork.
 */
void signals_restore(void);
/* Around fork: nothing may be handled twice, in parent and child. */
void signals_block(void);
void signals_unblock(void);

struct signal_seen {
	int number;
	bool from_terminal; /* by the kernel: CMD got it as well */
	pid_t sender;	    /* else */
};

/* The next signal that was caught; false when there is none. SIGCHLD is not reported. */
bool signals_take(struct signal_seen *seen);

#endif
