// SPDX-License-Identifier: MIT OR Apache-2.0
/* Runs a command with the agent in it: what all commands that do so have in common. */
#ifndef CMD_LAUNCH_H
#define CMD_LAUNCH_H

#include "capture/session.h"

/*
 * Fills in what o wants to know of this futrace (where its agent and its cache are) and runs the
 * session. Returns the status to exit with; what went wrong was said.
 */
int launch(struct session_opts *o, bool no_cache);

#endif
