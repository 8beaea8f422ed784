// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two recordings side by side, by type: what got slower, what appeared, what vanished, and how much
 * of a difference is noise.
 *
 * Four things are compared: how long a poll takes and how long a task waits for a worker, by their
 * means; how busy the type is, in nanoseconds of a second, which shows what many short polls cost;
 * and how many tasks are *left*: alive at the end, or dropped with their runtime.
 *
 * Noise is measured in the recordings themselves. Each is cut into slices of equal time; how much
 * the mean of a slice strays from slice to slice tells how much the mean of the whole may be off
 * (the standard error of batch means). A difference counts when it is more than four times the
 * errors of both, together, and more than a share of what it was.
 *
 * Two runs of one program differ by more than that: another load, another clock of the CPU. That
 * shows in all types alike. So the *typical* change is the median of all types', by its factor, and
 * a type has changed only if its factor is more than the third power of that (two standard
 * deviations, if factors were spread evenly around 1), but never more than COMPARE_MAX_TYPICAL:
 * where most types have changed, that is no noise.
 */
#ifndef ANALYZE_COMPARE_H
#define ANALYZE_COMPARE_H

#include "analyze/by_type.h"

#define COMPARE_SLICES	    16
#define COMPARE_MAX_TYPICAL 2.0 /* a factor beyond this is a change, whatever the others did */

/* One recording as a side of a comparison. */
struct measure;

/* rec is borrowed and outlives it. from and to: what of it will be read. */
struct measure *measure_new(const struct recording *rec, uint64_t from_ns, uint64_t to_ns);
void measure_free(struct measure *m);
const struct recording_sink *measure_get_sinks(struct measure *m, size_t *nr);

/* busy: ns in a second of the recording */
enum compare_metric { COMPARE_POLL, COMPARE_SCHED, COMPARE_BUSY, COMPARE_NR_METRICS };

/* A mean, and how far it may be off. */
struct estimate {
	uint64_t nr;
	double mean_ns;
	double error_ns; /* the standard error; negative: too little is known */
};

enum compare_verdict {
	COMPARE_SAME, /* within the noise */
	COMPARE_SLOWER,
	COMPARE_FASTER,
	COMPARE_BUSIER, /* more time in its polls, of each second */
	COMPARE_CALMER,
	COMPARE_LEAKIER, /* more of its tasks are left */
	COMPARE_TIDIER,
	COMPARE_UNSURE,	  /* too few to tell, or without a name on one side */
	COMPARE_APPEARED, /* only in the second */
	COMPARE_VANISHED, /* only in the first */
};

struct compare_side {
	const struct by_type_row *row; /* NULL: it is not there */
	uint64_t nr_left;	       /* tasks that did not come to an end by themselves */
	struct estimate metrics[COMPARE_NR_METRICS];
};

struct compare_row {
	const char *name; /* NULL: unknown */
	uint16_t type;	  /* in the first recording that has it, EVENT_TYPE_NONE */
	enum trace_task_kind kind;
	struct compare_side sides[2];
	enum compare_verdict verdict;			   /* the worst of its metrics */
	enum compare_verdict verdicts[COMPARE_NR_METRICS]; /* SAME, UNSURE, or as the metric goes */
	enum compare_verdict left_verdict;		   /* SAME, LEAKIER, TIDIER */
	double change_ns[COMPARE_NR_METRICS];		   /* of the means */
	double noise_ns[COMPARE_NR_METRICS]; /* a difference up to this is none; negative: not known
					      */
	double harm_ns; /* what the change costs, in ns of a second: for the order */
};

/*
 * After both were read. What got worse first (slower, leakier, busier), then what appeared and
 * vanished, what got better, the rest.
 * Only changes of at least min_percent count. The rows are the caller's to free and are good as
 * long as both measures.
 */
struct comparison {
	struct compare_row *rows;
	size_t nr_rows;
	/* How much types changed, as a factor >= 1, whichever way; 1 where they are too few to
	 * tell. */
	double typical[COMPARE_NR_METRICS];
};

void compare(struct comparison *c, const struct measure *a, const struct measure *b,
	     unsigned min_percent);
void comparison_release(struct comparison *c);

/* How much of a factor is taken for noise between recordings. */
double comparison_get_allowed(const struct comparison *c, enum compare_metric metric);

bool compare_is_worse(enum compare_verdict v);
const char *compare_verdict_name(enum compare_verdict v);

#endif
