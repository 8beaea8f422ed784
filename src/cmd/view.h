// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The options by which all commands that look at a recording choose what of it they look at and
 * what they call a fault. A command has a `struct view_opts` in its own options, and the lines of
 * VIEW_OPTIONS in its table:
 *
 *	static const struct opt options[] = {
 *		…
 *		VIEW_OPTIONS(struct report_opts, view),
 *		{ 0 },
 *	};
 *
 *	if (view_init(&view, &opts->view, &rec, &e))
 *		return cmd_fail(&e);
 *	analyzer = analyzer_new(&rec, view.config);
 *	model = recording_read(&rec, &view.recording, sinks, nr);
 */
#ifndef CMD_VIEW_H
#define CMD_VIEW_H

#include "analyze/analyze.h"
#include "base/opts.h"
#include "cmd/progress.h"
#include "model/future_filter.h"

struct view_opts {
	const char *filter, *time_range;
	struct opt_list thresholds, allows;
	bool quiet;
};

/* clang-format off */
#define VIEW_OPTIONS(type, member)                                                              \
	OPT(0, "filter", OPT_STR, type, member.filter, "EXPR",                                  \
	    "only tasks such as type~serve,kind=task,life>1s"),                                 \
	OPT(0, "time-range", OPT_STR, type, member.time_range, "RANGE",                         \
	    "only A..B or A+LENGTH, as 1.5s..2s, 50%..60%, 2s+100ms"),                          \
	OPT(0, "threshold", OPT_LIST, type, member.thresholds, "NAME=VALUE",                    \
	    "when an analysis finds a fault; may be repeated"),                                 \
	OPT(0, "allow", OPT_LIST, type, member.allows, "RULE",                                  \
	    "leave an analysis out; may be repeated"),                                          \
	OPT('q', "quiet", OPT_FLAG, type, member.quiet, NULL, "no progress bar")

/* The member is a struct future_filter: for commands that show the futures inside of tasks. */
#define FUTURES_OPTIONS(type, member)                                                           \
	OPT(0, "generated-future", OPT_FLAG, type, member.only_generated, NULL,                 \
	    "of futures only async fns and blocks"),                                            \
	OPT(0, "hide-future", OPT_LIST, type, member.hide, "PART",                              \
	    "leave out futures with PART in their names"),                                      \
	OPT(0, "show-future", OPT_LIST, type, member.show, "PART",                              \
	    "show these nevertheless; both may be repeated")
/* clang-format on */

struct view {
	struct recording_view recording;
	struct analyze_config *config;
	struct progress progress;
};

/* rec is borrowed and outlives it. -1 with ERR_USAGE: what is wrong with the options. */
int view_init(struct view *v, const struct view_opts *o, const struct recording *rec,
	      struct err *e);
void view_release(struct view *v);
/* Only the thresholds, where there is no recording. */
struct analyze_config *view_make_config(const struct view_opts *o, struct err *e);

#endif
