// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The options by which futures are shown and hidden, for commands that show those inside of tasks:
 *
 *	FUTURES_OPTIONS(struct report_opts, futures),
 *
 * A pattern is a part of a name; `show` has the last word.
 */
#ifndef CMD_FUTURES_H
#define CMD_FUTURES_H

#include "base/opts.h"
#include "trace/trace.h"

struct futures_opts {
	bool only_generated;
	struct opt_list show, hide;
};

/* clang-format off */
#define FUTURES_OPTIONS(type, member)                                                           \
	OPT(0, "generated-future", OPT_FLAG, type, member.only_generated, NULL,                 \
	    "of futures only async fns and blocks"),                                            \
	OPT(0, "hide-future", OPT_LIST, type, member.hide, "PART",                              \
	    "leave out futures with PART in their names"),                                      \
	OPT(0, "show-future", OPT_LIST, type, member.show, "PART",                              \
	    "show these nevertheless; both may be repeated")
/* clang-format on */

bool futures_want_step(const struct futures_opts *o, const struct trace_step *s);
bool futures_want(const struct futures_opts *o, const struct trace_future *f);
bool futures_is_set(const struct futures_opts *o);

#endif
