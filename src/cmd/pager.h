// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Long text through a pager: $FUTRACE_PAGER, $PAGER, or less; "cat" or an empty word means none.
 * What goes wrong with it costs at most the text, never the exit status of the command.
 */
#ifndef CMD_PAGER_H
#define CMD_PAGER_H

#include <signal.h>
#include <sys/types.h>

#include "base/util.h"

struct pager {
	int fd;			    /* where the text goes: stdout where there is no pager */
	pid_t pid;		    /* 0: there is none */
	struct sigaction interrupt; /* what Ctrl-C did before */
};

/* There is none unless stdout is a terminal and somebody wants one. Ignores SIGPIPE from then on.
 */
void pager_open(struct pager *p, bool is_wanted);
/* Waits until the reader has seen enough. */
void pager_close(struct pager *p);

#endif
