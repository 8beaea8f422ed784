// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A recording in somebody else's format. An exporter is one file with one `const struct exporter`
 * and one line in export/exporters.h. Its run function reads the recording as often as it needs to
 * (recording_read with sinks of its own) and appends to job->out.
 *
 * Strings of the target are hostile: each exporter escapes them for its format.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "analyze/analyze.h"
#include "base/out.h"
#include "model/recording.h"

/* What time is the weight of a stack, where a format has stacks. */
enum export_weight {
	EXPORT_BUSY,
	EXPORT_SCHEDULED,
	EXPORT_IDLE,
	EXPORT_WAITING /* idle and scheduled; the stacks are of await points */
};

struct export_job {
	struct recording *rec;
	struct recording_view view;
	const struct analyze_config *config; /* thresholds of the findings */
	struct out *out;		     /* NULL for one that is_database */
	const char *path;   /* what a database writes: an empty file, whose name is for now */
	uint64_t max_bytes; /* of the output; 0: no limit. What is left out is told by a note */
	bool is_limit_hard; /* who wanted it wants no larger output at all */
	uint32_t nr_tracks; /* tasks that get a track of their own */
	uint64_t task;	    /* … or this one alone, when has_task */
	bool has_task;
	enum export_weight weight;
	/* By number of the future (model/steps.h): which of those inside of tasks are shown. NULL:
	 * async fns and blocks, and what they wait for. */
	const bool *futures;
	const bool *polled; /* by number of the trace's future: whose polls are shown; NULL: all */
	void (*note)(void *arg, const char *text); /* one line for the user; no newline */
	void *note_arg;
};

struct exporter {
	const char *name;    /* --format=NAME */
	const char *summary; /* one line for the manual and `export -h` */
	const char *suffix;  /* of the default file name: "pftrace" */
	bool is_database;    /* writes job->path itself, and cannot go to stdout */
	bool is_whole;	     /* --max-size is not for it */
	bool has_tracks;     /* --tasks and --task are */
	uint32_t nr_tracks;  /* tasks with a track of their own, when nothing is said */
	bool has_stacks;     /* --weight is */
	uint64_t max_bytes;  /* unless --max-size says otherwise: what its readers take; 0: any */
	bool is_text;	     /* goes to stdout when no file is named */
	int (*run)(struct export_job *job, struct err *e);
};

/*
 * One pass for an exporter that also tells findings: the analyzer's sinks and one of its own. The
 * analyzer is finished then. The model is the caller's to free.
 */
struct model *export_read(struct export_job *job, struct analyzer *a, const struct model_ops *ops,
			  void *sink);

/* Is a step's future shown? is_leaf: it is the innermost of its branch. */
static inline bool export_shows(const struct export_job *job, uint32_t step, bool is_leaf)
{
	if (job->futures)
		return job->futures[job->rec->awaits.future_of[step]];
	return is_leaf || job->rec->steps[step].is_generated;
}

/* A note, for formats that have no room for it, if events were lost. */
void export_note_lost(const struct export_job *job, const struct model *m);

/* NULL: there is none of that name. */
const struct exporter *exporter_find(const char *name);
/* NULL-terminated, in the order of export/exporters.h. */
extern const struct exporter *const exporters[];

#endif
