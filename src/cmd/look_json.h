// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `ps --json` and `tree --json` print: every task with its tree. */
#ifndef CMD_LOOK_JSON_H
#define CMD_LOOK_JSON_H

#include "cmd/look.h"

/* Walks all tasks and prints them as they come, so that nothing has to be kept. */
int look_json(struct look *l, const char *filter, bool locals);

#endif
