// SPDX-License-Identifier: MIT OR Apache-2.0
/* The rows of `futrace diff` as text, CSV and JSON. */
#ifndef SHOW_DIFF_TABLE_H
#define SHOW_DIFF_TABLE_H

#include "analyze/compare.h"
#include "show/diff_findings.h"
#include "show/table.h"

struct diff_table {
	const struct recording *recs[2];
	uint64_t durations_ns[2];
	struct diff_findings findings;
	struct comparison result;
	struct styles styles;
};

/* A sentence of how many there are of each kind, and the table; is_all: what did not change, too.
 */
void diff_table_text(const struct diff_table *d, bool is_all, struct out *out);
void diff_table_csv(const struct diff_table *d, struct out *out);
void diff_table_json(const struct diff_table *d, struct json *j);

#endif
