// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the forms of `futrace report` share: a recording, what was found in it, and where text goes.
 */
#ifndef SHOW_REPORT_H
#define SHOW_REPORT_H

#include "analyze/analyze.h"
#include "analyze/fail_on.h"
#include "base/json.h"
#include "base/out.h"
#include "show/report_tables.h"
#include "show/style.h"

struct report {
	struct recording rec;
	struct recording_view view;
	const char *filter_text; /* of the view's filter, as it was given; NULL: none */
	const struct analyze_config *config;
	struct styles styles;
	struct analyzer *analyzer;
	struct fail_on *fail_on;    /* NULL: nothing to fail on */
	struct report_table *table; /* NULL: none is wanted */
	struct report_table_opts table_opts;
	struct model *model; /* once it is read */
	bool verbose;
	bool all_findings;
};

/* What the first paragraph tells; the same numbers stand in the JSON. */
struct report_totals {
	struct by_type_row all;	     /* of all types */
	struct by_type_row blocking; /* of closures of the blocking pool */
	struct by_type_row roots;    /* of root futures */
	uint64_t wakes;
	uint64_t nr_threads[3];	  /* by enum model_thread_kind */
	uint64_t workers_busy_ns; /* of all workers */
	double workers_busy;	  /* share of their time; 0 without workers */
	uint64_t lost[EV_MAX], lost_sum;
	uint64_t nr_unnamed, nr_ambiguous; /* types with tasks */
	/* What the agent's hooks may have cost the program: estimated, from and to. */
	uint64_t agent_min_ns, agent_max_ns;
};

/* After the recording was read. */
void report_totals_init(struct report_totals *t, const struct report *r);
void report_totals_release(struct report_totals *t);
void report_totals_text(const struct report *r, const struct report_totals *t, struct strbuf *out);
void report_totals_json(const struct report *r, const struct report_totals *t, struct json *j);

void report_findings_text(const struct report *r, struct strbuf *out);
void report_findings_json(const struct report *r, struct json *j);
/* Every analysis with its thresholds as they are set. */
void report_thresholds(const struct analyze_config *config, const struct styles *styles,
		       struct strbuf *out);

/* One pass for the analyzer, the table and these sinks; one more if the table needs it. */
void report_read(struct report *r, const struct recording_sink *sinks, size_t nr);
/* After report_read: totals, findings and the table. */
void report_text(struct report *r, struct out *out);
/* Reads the recording, and writes as it goes. */
void report_json(struct report *r, struct out *out);
/* The members of a task's object, which is open. */
void report_put_task(const struct recording *rec, const struct model_task *t, struct json *j);

#endif
