// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `ps --json` and `tree --json` print: every task with its tree. */
#ifndef SHOW_LOOK_JSON_H
#define SHOW_LOOK_JSON_H

#include "base/out.h"
#include "show/tree_findings.h"

struct look_json_opts {
	const char *filter; /* or NULL */
	bool locals;
	const struct findings *findings; /* NULL: nobody looked for any */
};

/* Walks all tasks and writes them as they come, so that nothing has to be kept. */
void look_json(struct look *l, const struct look_json_opts *opts, struct out *out);

#endif
