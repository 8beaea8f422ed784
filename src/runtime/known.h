// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is to be said of a runtime that futrace knows, whatever file it is found in. */
#ifndef RUNTIME_KNOWN_H
#define RUNTIME_KNOWN_H

#include "base/strbuf.h"
#include "runtime/discover.h"

/* Lists end with NULL. */
struct known_runtime {
	const char *text;	       /* "Tokio 1": what can be recorded */
	const char *const *names;      /* as in struct found_runtime: "tokio" */
	const char *const *schedulers; /* of struct found_table, in the order to show them in */
	/* Which of them runs the tasks that run in the main loop of a worker, and which those that
	 * run elsewhere; NULL: that does not tell. */
	const char *worker_scheduler, *other_scheduler;
	/* The latter, if all its tasks stay on their thread, which their tables do not tell; NULL:
	 * there is none. */
	const char *local_scheduler;
	const char *unstable; /* what found_runtime.unstable is called: "tokio_unstable" */
};

const struct known_runtime *known_runtime(const struct found_runtime *r);
/* By the name that a recording has it under; NULL: a futrace that knew more wrote it. */
const struct known_runtime *known_runtime_named(const char *name);
/* "Tokio 1, async-std, smol" */
void known_runtimes_text(struct strbuf *out);

#endif
