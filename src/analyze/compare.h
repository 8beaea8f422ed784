// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two recordings side by side, by type: what got slower, what appeared, what vanished, and how much
 * of a difference is noise.
 *
 * Noise is measured in the recordings themselves. Each is cut into slices of equal time; how much
 * the mean of a slice strays from slice to slice tells how much the mean of the whole may be off
 * (the standard error of batch means). A difference counts when it is more than four times the
 * errors of both, together, and more than a share of what it was.
 *
 * Two runs of one program differ by more than that: another load, another clock of the CPU. That
 * shows in all types alike. So the *typical* change is the median of all types', by its factor, and
 * a type has changed only if its factor is more than the third power of that (two standard
 * deviations, if factors were spread evenly around 1). Where most types have changed, that is told
 * instead.
 */
#ifndef ANALYZE_COMPARE_H
#define ANALYZE_COMPARE_H

#include "analyze/by_type.h"

#define COMPARE_SLICES 16

/* One recording as a side of a comparison. */
struct measure;

/* rec is borrowed and outlives it. from and to: what of it will be read. */
struct measure *measure_new(const struct recording *rec, uint64_t from_ns, uint64_t to_ns);
void measure_free(struct measure *m);
const struct recording_sink *measure_get_sinks(struct measure *m, size_t *nr);

enum compare_metric { COMPARE_POLL, COMPARE_SCHED, COMPARE_NR_METRICS };

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
	COMPARE_UNSURE,	  /* too few to tell, or without a name on one side */
	COMPARE_APPEARED, /* only in the second */
	COMPARE_VANISHED, /* only in the first */
};

struct compare_side {
	const struct by_type_row *row; /* NULL: it is not there */
	struct estimate metrics[COMPARE_NR_METRICS];
};

struct compare_row {
	const char *name; /* NULL: unknown */
	uint16_t type;	  /* in the first recording that has it, EVENT_TYPE_NONE */
	enum trace_task_kind kind;
	struct compare_side sides[2];
	enum compare_verdict verdict;			   /* the worst of its metrics */
	enum compare_verdict verdicts[COMPARE_NR_METRICS]; /* SAME, SLOWER, FASTER, UNSURE */
	double change_ns[COMPARE_NR_METRICS];		   /* of the means */
	double noise_ns[COMPARE_NR_METRICS]; /* a difference up to this is none; negative: not known
					      */
	double harm_ns; /* what the change costs, in ns of a second: for the order */
};

/*
 * After both were read. Slower ones first, then what appeared and vanished, faster ones, the rest.
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

const char *compare_verdict_name(enum compare_verdict v);

#endif
