// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the files of the Chrome exporter share. Nobody outside includes this. */
#ifndef EXPORT_CHROME_H
#define EXPORT_CHROME_H

#include "base/strbuf.h"
#include "export/nested.h"
#include "export/safe_names.h"
#include "export/tracks.h"

/* Tracks of tasks, in a process of their own that is none: pids of Linux end below that. */
#define CHROME_TASKS_PID (UINT64_C(1) << 22)

struct chrome_held {
	uint32_t thread;
	uint64_t start_ns;
	char *text;
};

/* Polls, and what is inside them. What it has from others is borrowed. */
struct chrome_polls {
	const struct recording *rec;
	struct out *out;
	const struct names *groups;  /* as JSON strings */
	const struct trunks *trunks; /* names as JSON strings */
	struct nested nested;
	uint64_t from_ns; /* where what is exported begins */
	uint64_t *sizes;  /* while measuring what they take, else NULL */
	struct strbuf scratch;
	uint64_t min_ns; /* shorter ones are left out */
	uint64_t nr_runs, nr_left_out, nr_flows, nr_torn;
	VEC(struct chrome_held) held;
};

extern const struct model_ops chrome_polls_ops;	  /* of a struct chrome_polls */
void chrome_polls_finish(struct chrome_polls *p); /* after the last pass */
void chrome_polls_release(struct chrome_polls *p);

struct chrome_tasks {
	struct tracks tracks;
	struct chosen chosen;
	struct out *out;
	VEC(uint64_t) nrs; /* of the tasks, by track */
};

/* A pass of its own. */
struct chrome_marks {
	const struct recording *rec;
	struct out *out;
	uint64_t nr_spans;
};

extern const struct model_ops chrome_marks_ops; /* of a struct chrome_marks */

extern const struct tracks_ops chrome_tracks_ops; /* of a struct chrome_tasks */

static inline void put_number(struct strbuf *b, const char *key, uint64_t value)
{
	strbuf_addstr(b, key);
	strbuf_adduint(b, value);
}

/* Microseconds, the format's unit, with three decimals: exact. */
static inline void put_time(struct strbuf *b, const char *key, uint64_t ns)
{
	put_number(b, key, ns / 1000);
	strbuf_addch(b, '.');
	strbuf_addch(b, '0' + ns / 100 % 10);
	strbuf_addch(b, '0' + ns / 10 % 10);
	strbuf_addch(b, '0' + ns % 10);
}

/* Where and when an event is. What is of no thread is of the main one. */
void chrome_put_place(struct strbuf *b, const struct recording *rec, uint32_t thread,
		      uint64_t time_ns);
/* ,"cname":…: viewers have colours by name, and no others. One for each task. */
void chrome_put_colour(struct strbuf *b, uint64_t task_nr);
/* A string of JSON. */
void chrome_quote(struct strbuf *out, const char *text);
/* ,"await":…, of an object of args that is open: where a future stands. */
void chrome_put_await(struct strbuf *b, const struct trace_step *s);

#endif
