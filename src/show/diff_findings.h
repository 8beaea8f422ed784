// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What `futrace diff` says before its table: which findings one recording has and the other has
 * not. Two findings are the same when their rule is, and the name of the type that they are about.
 */
#ifndef SHOW_DIFF_FINDINGS_H
#define SHOW_DIFF_FINDINGS_H

#include "analyze/analyze.h"
#include "base/json.h"
#include "base/vec.h"
#include "show/style.h"

struct diff_finding {
	const struct recording *rec;
	const struct finding *finding;
};

struct diff_findings {
	VEC(struct diff_finding) appeared, vanished; /* worst first */
	size_t nr_both;
};

/* Both analyzers are finished; the result is good as long as they are. */
void diff_findings_init(struct diff_findings *d, const struct recording *recs[2],
			struct analyzer *const analyzers[2]);
void diff_findings_release(struct diff_findings *d);
void diff_findings_text(const struct diff_findings *d, const struct styles *styles,
			struct strbuf *out);
/* "findings_appeared" and "findings_vanished", in an object that is open. */
void diff_findings_json(const struct diff_findings *d, struct json *j);

#endif
