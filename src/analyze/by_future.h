// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The futures that tasks are made of, by type: made of the sums by path when the recording is over.
 *
 * What can be known. A path says which futures stood there when a run of the task began. One that
 * is on a path and was not on the path before began in the run in between; one that is no longer
 * there ended in it. It *finished* if the future around it went on, for an await goes on when its
 * future is ready; it was *dropped* if its task was. Of several futures that one awaits at once
 * (select!, a timeout) one may be ready and the others dropped: which one, is told by the leaf that
 * was ready, or by who woke the task; where neither does, they are *unsure*. A future that is
 * ready at its first poll is on no path; and where a loop begins the same future again at the same
 * line, the path is the same: they count as one, unless their leaf was seen to be ready. Of those
 * that a select! in a loop may have dropped so it is kept how often that was.
 *
 * Where polls of a future were recorded one by one (record --futures), how often it was polled and
 * how long that took is exact, and how many finished; if only some of its polls were, it is what
 * the paths say.
 */
#ifndef ANALYZE_BY_FUTURE_H
#define ANALYZE_BY_FUTURE_H

#include "analyze/by_path.h"
#include "analyze/inner_polls.h"
#include "base/vec.h"

/* Where futures of a type stood when they were dropped. */
struct by_future_drop {
	const struct trace_step
		*step; /* that waits at a line; NULL: none is known, or it never ran */
	uint64_t nr;
	bool is_panic; /* step: its last wait; the poll after it panicked */
};

/* Where the polls of a row come from. */
enum by_future_source {
	BY_FUTURE_PATHS, /* polls of tasks in which it took part, whole */
	BY_FUTURE_SOME,	 /* its own, as far as they were recorded */
	BY_FUTURE_EXACT, /* its own, all of them */
};

struct by_future_row {
	const struct trace_step *step; /* of the type, for its name; NULL: it is on no path */
	/* Polls that were recorded one by one; NULL: none were. One of several, which tell alike */
	const struct trace_future *future;
	struct inner_polls_row exact, own; /* own: the same where it is the source, else zeroes */
	enum trace_future_seen seen;	   /* whether these are all */
	enum by_future_source source;
	uint64_t nr; /* that were told from each other */
	uint64_t nr_finished, nr_dropped, nr_unsure;
	uint64_t nr_unknown;	 /* the rest: still there, or nobody knows */
	uint64_t nr_again;	 /* turns of a select! that may each have made another one */
	uint64_t polls, poll_ns; /* as the source says */
	uint64_t waits, wait_ns; /* of tasks while it was there */
	VEC(struct by_future_drop) drops; /* most often first */
};

struct by_future {
	struct by_future_row *v; /* by kind, see model/future_kinds.h */
	uint32_t nr;
};

/* paths, polls: NULL where there are none. is_lossy: some polls of futures were lost. */
void by_future_init(struct by_future *b, const struct recording *rec, const struct by_path *paths,
		    const struct inner_polls *polls, bool is_lossy);
/* "" where it is unknown, and of what is no async fn or block. */
const char *by_future_function(const struct by_future_row *row);
/* What people call it. */
const char *by_future_name(const struct by_future_row *row);
bool by_future_is_generated(const struct by_future_row *row);
void by_future_release(struct by_future *b);

#endif
