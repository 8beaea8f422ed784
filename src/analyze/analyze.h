// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What is wrong in a recording. An *analysis* looks for one kind of fault: one file with one `const
 * struct analysis`, and one line in analyze/analyses.h. It listens to the model if it needs to,
 * looks at the sums when the recording is over, and says what it found as *findings*. The analyzer
 * runs them all in one pass.
 *
 *	struct analyzer *a = analyzer_new(rec, config);
 *	model = recording_read(rec, view, analyzer_get_sinks(a, &nr), nr);
 *	analyzer_finish(a, model);
 *	findings = analyzer_get_findings(a, &nr_findings);	worst first
 */
#ifndef ANALYZE_ANALYZE_H
#define ANALYZE_ANALYZE_H

#include "analyze/by_path.h"
#include "analyze/by_runtime.h"
#include "analyze/by_type.h"
#include "model/recording.h"

/*
 * Severity is about the program, not about how sure we are: what is not sure is no finding.
 *
 * CRITICAL	other tasks suffer from it now: a worker is held and cannot run them
 * WARNING	a fault that costs time or memory, or a CRITICAL one that is small
 * NOTE		worth a look; may be what somebody wanted
 *
 * Findings of one severity are ordered by harm_ns: ns of worker or CPU time lost in the recording.
 * What costs something else (memory) says how much lost time it is to be compared with.
 */
enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_CRITICAL };

enum figure_unit { FIGURE_COUNT, FIGURE_NS, FIGURE_BYTES, FIGURE_PERCENT };

struct figure {
	const char *name; /* "max_ns": a key of the JSON, with its unit */
	enum figure_unit unit;
	uint64_t value; /* whole percent, rounded down, where that is the unit */
};

#define FINDING_MAX_FIGURES 10

struct finding {
	const struct analysis *analysis;
	enum severity severity;
	uint64_t harm_ns; /* decides among findings of one severity */
	/* It follows from faults that have findings of their own, and comes after all those of its
	 * severity. */
	bool is_consequence;
	uint16_t type; /* EVENT_TYPE_NONE: it is about no type */
	uint32_t step; /* that tasks wait at, TRACE_NO_STEP: it is about no await point */
	bool has_task;
	struct model_key task; /* the worst one, if there is one */
	uint32_t thread;       /* where the worst of it happened; MODEL_NO_THREAD */
	uint64_t time_ns;      /* when that began */
	uint64_t span_ns;      /* how long it took; 0: a moment, or the whole recording */
	struct figure figures[FINDING_MAX_FIGURES];
	unsigned nr_figures;
	char *what;   /* "23 polls slept 1.38s in all, the longest 60.2ms, …": what, not where */
	char *advice; /* one sentence: what to do */
};

enum threshold_unit { THRESHOLD_NS, THRESHOLD_COUNT, THRESHOLD_BYTES, THRESHOLD_PERCENT };

/* A limit that the user may set: `--threshold NAME=VALUE`. */
struct threshold {
	const char *name; /* NULL ends the table */
	enum threshold_unit unit;
	uint64_t value; /* unless the user says otherwise */
	const char *help;
};

/* What an analysis is given. */
struct analysis_input {
	const struct recording *rec;
	const uint64_t *limits; /* of its thresholds, in their order */
	void *by_group;		/* group_size for each group, zeroed at first */
	/* The rest only when the recording is over. */
	const struct model *model;
	uint64_t start_ns, duration_ns;
	const struct by_type_row *rows; /* by group: rec->nr_groups of them */
	const struct by_path *paths;	/* NULL: the recording has none */
	const struct model_thread *threads;
	size_t nr_threads;
	/* So long workers could have run and no CPU was free: the machine was busy. 0: no sign of
	 * that, or the kernel did not tell. */
	uint64_t off_cpu_ns;
	struct analyzer *out; /* for finding_add */
};

struct analysis {
	const char *name;    /* "blocked-poll": the finding's rule */
	const char *summary; /* one line: what it looks for */
	const struct threshold *thresholds;
	size_t group_size; /* of what it keeps of each group of types; 0: nothing */
	size_t state_size; /* of what else it keeps, zeroed before init; 0: its input is its state
			    */
	void (*init)(void *state, const struct analysis_input *in); /* may be NULL */
	const struct model_ops *ops; /* its sink is the state; NULL: the sums are enough */
	/*
	 * Instead of ops->run, for who needs only runs that are out of the ordinary: asleep in the
	 * kernel for a while, on the blocking pool, or as long or as late as analysis_watch said.
	 * Some others come too. The usual poll is none, and costs nothing here. May be NULL.
	 */
	void (*odd_run)(void *state, const struct model_run *run);
	void (*finish)(void *state, const struct analysis_input *in);
	void (*release)(void *state); /* may be NULL */
	/* The name of an analysis whose finding about the same type is left out when it has no more
	 * harm: it would say the same, less exactly. May be NULL. */
	const char *covers;
};

/* The worst run so far, for an analysis that points at one. Zeroed memory is none. */
struct worst_run {
	uint64_t span_ns; /* how bad */
	uint64_t time_ns; /* when that began */
	uint32_t thread;
	struct model_key task;
};

static inline void worst_run_note(struct worst_run *w, const struct model_run *run,
				  uint64_t span_ns)
{
	if (span_ns > w->span_ns)
		*w = (struct worst_run){ span_ns, run->start_ns, run->thread, run->task->key };
}

/*
 * For init: odd_run is told of every run that takes at least run_ns, or waited for a worker at
 * least sched_ns. UINT64_MAX: of none because of that.
 */
void analysis_watch(const struct analysis_input *in, uint64_t run_ns, uint64_t sched_ns);

/* One more finding, about a type or about none. It is good until the next one. */
struct finding *finding_add(const struct analysis_input *in, enum severity severity, uint16_t type);
void finding_figure(struct finding *f, const char *name, enum figure_unit unit, uint64_t value);
/* Where the worst of it happened. */
void finding_point(struct finding *f, const struct worst_run *w);
void finding_say(struct finding *f, const char *fmt, ...) PRINTF(2, 3);
void finding_advise(struct finding *f, const char *fmt, ...) PRINTF(2, 3);

/* Limits and what is left out. */
struct analyze_config;

struct analyze_config *analyze_config_new(void);
void analyze_config_free(struct analyze_config *c);
/* "long-poll=5ms"; the unit is the threshold's own. */
int analyze_config_set(struct analyze_config *c, const char *text, struct err *e);
/* Leaves an analysis out, by name. */
int analyze_config_allow(struct analyze_config *c, const char *name, struct err *e);

/* NULL-terminated, in the order of analyze/analyses.h. */
extern const struct analysis *const analyses[];

/* Limits of what only counts and finds nothing, in the order of this enum. */
enum { COUNT_BLOCKADE };
extern const struct threshold count_thresholds[];
/* The same as they were set; good as long as the config. */
const uint64_t *analyze_config_counts(const struct analyze_config *c);

struct analyzer;

/* config may be NULL: the usual limits. Both are borrowed and outlive it. */
struct analyzer *analyzer_new(const struct recording *rec, const struct analyze_config *config);
void analyzer_free(struct analyzer *a);
const struct recording_sink *analyzer_get_sinks(struct analyzer *a, size_t *nr);
void analyzer_finish(struct analyzer *a, const struct model *m);
/* The rest after that; good until analyzer_free. Worst first. */
const struct finding *analyzer_get_findings(const struct analyzer *a, size_t *nr);
struct by_type *analyzer_get_types(struct analyzer *a);
struct by_runtime *analyzer_get_runtimes(struct analyzer *a);
struct by_path *analyzer_get_paths(struct analyzer *a); /* NULL: the recording has none */
/* In order of their numbers. */
const struct model_thread *analyzer_get_threads(const struct analyzer *a, size_t *nr);

const char *severity_name(enum severity s);

#endif
