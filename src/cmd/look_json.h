// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `ps --json` and `tree --json` print: every task with its tree. */
#ifndef CMD_LOOK_JSON_H
#define CMD_LOOK_JSON_H

#include "cmd/tree_findings.h"

struct look_json_opts {
	const char *filter; /* or NULL */
	bool locals;
	const struct findings *findings; /* NULL: nobody looked for any */
};

/* Walks all tasks and prints them as they come, so that nothing has to be kept. */
int look_json(struct look *l, const struct look_json_opts *opts);

#endif
