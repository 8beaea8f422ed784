// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by info.c (what is told of a trace file), info_text.c and info_json.c (how). */
#ifndef CMD_INFO_H
#define CMD_INFO_H

#include "base/strbuf.h"
#include "trace/reader.h"

struct info {
	struct trace *t;
	const char *path;
	const struct trace_meta *meta;
	const struct trace_end *end;
	const struct trace_damage *damage;
	const struct trace_type *types;
	const struct trace_runtime *runtimes;
	const struct trace_object *objects;
	const struct clock_anchor *anchors;
	uint32_t nr_types, nr_runtimes, nr_objects, nr_threads, nr_anchors;
	uint64_t nr_events; /* that could be read */
	uint64_t nr_of[EV_MAX], lost[EV_MAX];
	uint64_t nr_lost;
	uint32_t nr_used_types; /* that an event names */
	bool *has_run;		/* a type of this runtime is one of them */
	uint64_t start_real_ns; /* 0: unknown */
	double ticks_per_ns;	/* 0: unknown */
};

const char *info_stop_reason(const struct info *in); /* of a recording that was stopped */
/* The file that the runtime is in. */
const char *info_object_path(const struct info *in, const struct trace_runtime *r);

void info_text(const struct info *in, struct strbuf *out);
void info_json(const struct info *in, struct strbuf *out);

#endif
