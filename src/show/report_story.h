// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace report --task=ID`: the story of one task, event by event. Ids repeat across the copies
 * of a runtime, so several tasks may answer; RUNTIME:ID names one, root:ID a root future.
 */
#ifndef SHOW_REPORT_STORY_H
#define SHOW_REPORT_STORY_H

#include "base/out.h"
#include "show/report.h"

#define STORY_USUAL UINT64_MAX /* limit: runs as fit a screen, all of them for JSON */

struct story_opts {
	const char *task; /* "5", "1:5" */
	uint64_t limit;	  /* how many runs are told, half from each end; 0: all */
	bool is_json;
};

/* Reads the recording itself. Nothing is written when it fails. */
int report_story(struct report *r, const struct story_opts *o, struct out *out, struct err *e);

#endif
