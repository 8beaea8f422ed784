// SPDX-License-Identifier: MIT OR Apache-2.0
/* What stdout can show: by --color, by the environment and by the terminal that it may be. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "base/opts.h"
#include "show/style.h"

/* The line of the option in a command's table; the member is a const char *. */
#define COLOR_OPTION(type, member) \
	OPT_CHOICE(0, "color", type, member, "WHEN", "colours", terminal_colors)
extern const char *const terminal_colors[];

/*
 * color is the argument of --color: auto (or NULL), always, never. Auto is colours on a terminal
 * that is not dumb, unless NO_COLOR is set. The width is $COLUMNS, or the terminal's, or 100.
 */
int terminal_get_styles(struct styles *s, const char *color, struct err *e);

#endif
