// SPDX-License-Identifier: MIT OR Apache-2.0
/* How the story of a task is written down, as text or as JSON. show/report_story.c tells it. */
#ifndef SHOW_STORY_H
#define SHOW_STORY_H

#include "base/out.h"
#include "show/report.h"
#include "show/story_waits.h"

/* Those of one moment stand in this order. */
enum story_kind {
	STORY_SPAWN, /* the task itself */
	STORY_WAKE,  /* somebody woke it */
	STORY_RUN,
	STORY_SLEEP,   /* in its run */
	STORY_SPAWNED, /* it spawned another */
	STORY_WOKE,    /* it woke another */
	STORY_END,
};

struct story_event {
	enum story_kind kind;
	uint64_t time_ns, end_ns; /* RUN and SLEEP have both */
	uint32_t thread;
	bool has_other;
	struct model_key other; /* parent, child, waker, woken */
	enum model_cause cause;
	enum model_end end;
	uint64_t nr; /* RUN: counts from 1 */
	uint64_t idle_ns, sched_ns, blocked_ns;
	uint32_t path; /* RUN: where it stood before, END: where it stands; MODEL_NO_PATH */
	uint8_t flags; /* RUN: EF_RUN_…, SLEEP: EF_SLEEP_… */
	bool is_known; /* SPAWN: it was seen; RUN: what came before; END: somebody wanted it */
	bool is_first, is_open, is_off_worker;
};

struct story {
	struct model_task task; /* as it ended */
	uint64_t nr_runs;
	uint64_t waited_ns; /* before its runs */
	uint64_t limit;	    /* of runs that are told, 0: all */
	struct story_waits waits;
};

struct story_writer {
	const struct report *r;
	struct out *out;
	struct json json;
	bool is_json;
	bool is_first;
	bool is_root; /* the story is of a root future, which nobody spawned and nobody joins */
};

void story_writer_init(struct story_writer *w, const struct report *r, struct out *out,
		       bool is_json);
/* nr_more: tasks that answer to the id as well and are not told. */
void story_writer_release(struct story_writer *w, uint64_t nr_more);
void story_write_head(struct story_writer *w, const struct story *s);
void story_write_event(struct story_writer *w, const struct story_event *ev);
/* So many are left out: "run", "event". */
void story_write_gap(struct story_writer *w, uint64_t nr, const char *what);
void story_write_tail(struct story_writer *w);

#endif
