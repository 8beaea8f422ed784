// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the forms of `futrace report` share: a trace, the model that read it, and what was lost. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "analyze/analyze.h"

struct report {
	struct recording rec;
	struct recording_view view;
	struct model *model; /* once it is read */
	bool verbose;	     /* the table tells whole names and places */
};

/* Sleeping is what closures on the blocking pool are for; in a task it holds up a worker. */
bool report_may_not_block(const struct by_type_row *row);
/* The table in so many columns. */
void report_rows(const struct report *r, const struct by_type_row *const *rows, size_t nr,
		 size_t width);

void report_json(struct report *r);
void report_table(struct report *r);

#endif
