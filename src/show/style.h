// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How text looks where it goes: colours by meaning, characters, and the width of a line. Where
 * colours are off, every mark is an empty string, so text is made the same way in both cases:
 *
 *	strbuf_addf(out, "%s%s%s", style_on(s, STYLE_CRITICAL), "CRITICAL", style_off(s));
 */
#ifndef SHOW_STYLE_H
#define SHOW_STYLE_H

#include "base/util.h"

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
	bool is_ascii;	  /* nothing but ASCII can be shown */
	bool is_terminal; /* a person reads it: names may be shortened */
	size_t width;	  /* columns of a line */
};

const char *style_on(const struct styles *s, enum style style);
const char *style_off(const struct styles *s);

#endif
