// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a trace file says of itself, and what of it can be read. */
#ifndef ANALYZE_TRACE_INFO_H
#define ANALYZE_TRACE_INFO_H

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

/* Reads all events. The trace and the path are borrowed. */
void info_init(struct info *in, struct trace *t, const char *path);
void info_release(struct info *in);

const char *info_stop_reason(const struct info *in); /* of a recording that was stopped */
/* The file that the runtime is in. */
const char *info_object_path(const struct info *in, const struct trace_runtime *r);

#endif
