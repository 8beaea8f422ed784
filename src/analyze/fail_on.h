// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `--fail-on=EXPR`, for those who run a report to be told yes or no: conditions joined by commas,
 * any of which is a failure, as in
 *
 *	poll>10ms,sched.p99>1ms,critical,task-leak>0,lost>0
 */
#ifndef ANALYZE_FAIL_ON_H
#define ANALYZE_FAIL_ON_H

#include "analyze/analyze.h"
#include "base/strbuf.h"

/* For messages. */
#define FAIL_ON_EXAMPLES "poll>10ms,sched.p99>1ms,critical,findings,task-leak>0,lost>0"

struct fail_on;

/* NULL: the text is wrong, and e tells why. */
struct fail_on *fail_on_new(const char *text, struct err *e);
void fail_on_free(struct fail_on *f);
/* What has to listen to the pass; *nr may be 0. */
const struct recording_sink *fail_on_get_sinks(struct fail_on *f, size_t *nr);
/* After analyzer_finish. One line for each condition that holds: by how much, and where. */
bool fail_on_judge(const struct fail_on *f, const struct recording *rec, const struct model *m,
		   const struct analyzer *a, struct strbuf *out);

#endif
