// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where the libraries are that futrace brings into programs. */
#ifndef CMD_AGENT_FILE_H
#define CMD_AGENT_FILE_H

#include "base/err.h"

/*
 * $FUTRACE_AGENT, else beside the executable (build tree), else where it is installed. As the
 * kernel names it; the caller frees it. ERR_NO_AGENT, also of a file that is damaged or of another
 * version: the loader crashes with some, and leaves others out without a reason.
 */
char *agent_find(struct err *e);
/* The probes once more, in names that perf takes: beside the agent. NULL: it is not
 * there, or not readable, or damaged. */
char *agent_find_probes(const char *agent);

#endif
