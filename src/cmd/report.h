// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the forms of `futrace report` share: a trace, the model that read it, and what was lost. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "model/by_type.h"
#include "trace/reader.h"

struct report {
	struct trace *trace;
	const struct trace_meta *meta;
	const struct trace_runtime *runtimes;
	const struct trace_object *objects;
	const struct trace_type *types;
	const struct trace_thread *threads;
	uint32_t nr_runtimes, nr_objects, nr_types, nr_threads;
	struct model *model;
	bool verbose; /* the table tells whole names and places */
};

/* Reads the whole trace through the model. */
void report_read(struct report *r);
/* After that: per kind what was lost, as the LOST events or the end of the recording tell. Returns
 * the sum. */
uint64_t report_lost(const struct report *r, uint64_t lost[EV_MAX]);
/* "type#7" where the name is not known. The answer lies in buf or in the trace. */
const char *report_type_name(const struct report *r, uint16_t type, char buf[32]);

/* "60.8ms", at most seven characters. */
const char *report_span(uint64_t ns, char buf[32]);
/* Sleeping is what closures on the blocking pool are for; in a task it holds up a worker. */
bool report_may_not_block(const struct by_type_row *row);
/* The table in so many columns. */
void report_rows(const struct report *r, const struct by_type_row *rows, size_t nr, size_t width);

void report_json(struct report *r);
void report_table(struct report *r);

#endif
