// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How text looks on a terminal: colours by meaning, and the width of a line. Where colours are off,
 * every mark is an empty string, so text is made the same way in both cases:
 *
 *	strbuf_addf(out, "%s%s%s", style_on(s, STYLE_CRITICAL), "CRITICAL", style_off(s));
 */
#ifndef CMD_STYLE_H
#define CMD_STYLE_H

#include "base/opts.h"

enum style {
	STYLE_CRITICAL, /* harms every other task */
	STYLE_WARNING,
	STYLE_NOTE,
	STYLE_GOOD,   /* looked for and not found */
	STYLE_HEAD,   /* the heading of a table or a part */
	STYLE_NAME,   /* what a line is about */
	STYLE_DETAIL, /* places and what else may be skipped */
	STYLE_ADVICE,
};

struct styles {
	bool has_colors;
};

/* The line of the option in a command's table; the member is a const char *. */
#define STYLE_OPTION(type, member) \
	OPT_CHOICE(0, "color", type, member, "WHEN", "colours", style_choices)
extern const char *const style_choices[];

/*
 * wish is the argument of --color: auto (or NULL), always, never. Auto is colours on a terminal
 * that is not dumb, unless NO_COLOR is set.
 */
int styles_init(struct styles *s, const char *wish, struct err *e);
const char *style_on(const struct styles *s, enum style style);
const char *style_off(const struct styles *s);

/* Of stdout: $COLUMNS, or the terminal's, or 100. */
size_t style_width(void);
/* Whether the locale has more than ASCII. */
bool style_is_utf8(void);

#endif
