// SPDX-License-Identifier: MIT OR Apache-2.0
/* The options and operands by which `ps` and `tree` choose whose memory they look into. */
#ifndef CMD_LOOK_OPTIONS_H
#define CMD_LOOK_OPTIONS_H

#include "cmd/command.h"
#include "show/look_text.h"

struct look_options {
	const char *core; /* NULL: the process that the only operand names */
	const char *exe;  /* the core file's program, NULL: it is where it was */
	bool no_cache;
};

/* look_open. Returns EXIT_OK, or says what is wrong and returns the exit status. look_close in any
 * case. */
int look_options_open(struct look *l, const struct look_options *o, int nr, char **argv);

#endif
