// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The tables of `futrace report --by=NAME`. A table is one file with one `const struct table_kind`
 * and one line in TABLES of report_by.h. It is fed by the same pass of the recording that feeds the
 * analyzer, and by a second one if it asks for it:
 *
 *	t = report_table_new(&rec, &opts, &e);		ERR_USAGE: no such table or sort key
 *	sinks = report_table_get_sinks(t, &nr);		for the pass, beside the analyzer's
 *	report_table_finish(t, analyzer, model);	after analyzer_finish
 *	sinks = report_table_get_second(t, &nr);	if nr: one more pass of the same view
 *	report_table_text(t, out);			or _csv, or _json
 *	report_table_free(t);
 */
#ifndef SHOW_REPORT_TABLES_H
#define SHOW_REPORT_TABLES_H

#include "analyze/analyze.h"
#include "base/json.h"
#include "base/out.h"
#include "model/future_filter.h"
#include "show/style.h"

#define REPORT_TABLE_USUAL UINT64_MAX /* limit: as many rows as the table thinks fit */

struct report_table_opts {
	const char *by;	  /* NULL: type */
	const char *sort; /* a key, with a '-' in front to turn it round; NULL: the table's own */
	uint64_t limit;	  /* 0: all rows */
	bool is_data;	  /* for CSV or JSON, where the usual limit is greater */
	bool is_verbose;  /* all that is known of each row, where the table can tell so much */
	const struct styles *styles;
	const struct future_filter *futures; /* which of them are wanted */
	const struct analyze_config *config;
};

struct report_table;

/* rec and opts are borrowed and outlive it. */
struct report_table *report_table_new(const struct recording *rec,
				      const struct report_table_opts *opts, struct err *e);
void report_table_free(struct report_table *t);
const struct recording_sink *report_table_get_sinks(struct report_table *t, size_t *nr);
/* The model stays valid until report_table_free. */
void report_table_finish(struct report_table *t, struct analyzer *a, const struct model *m);
const struct recording_sink *report_table_get_second(struct report_table *t, size_t *nr);

/* An empty line, the table, and what it leaves out. */
void report_table_text(struct report_table *t, struct out *out);
void report_table_csv(struct report_table *t, struct out *out);
/* The member "table" of the object that is open. */
void report_table_json(struct report_table *t, struct json *j);

/* The names of all tables, to NULL. */
extern const char *const report_table_names[];

#endif
