// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A trace file ready to be thought about: its definitions at hand, its types put into groups, and
 * as many passes of its events through a model as somebody needs. Whatever analyses or exports
 * takes one of these and adds sinks.
 *
 * A *group* is what people take for one type: all tables of one exact name and kind (a type has a
 * table for each scheduler and crate). A table without an exact name is a group of its own: two
 * tables with one list of candidates may well be two types. Tasks of no known table are the last
 * group.
 */
#ifndef MODEL_RECORDING_H
#define MODEL_RECORDING_H

#include "model/model.h"
#include "model/steps.h"
#include "trace/reader.h"

struct recording_group {
	uint16_t type;	  /* the first of its types, EVENT_TYPE_NONE for the last group */
	const char *name; /* NULL when unknown */
	bool is_exact;	  /* the name is one, not a list of candidates */
	enum trace_task_kind kind;
};

/* Where tasks are spawned: all stacks of one file and line. */
struct recording_place {
	const char *file;
	uint32_t line;
};

/*
 * What people take for a runtime: one that the program made, or a LocalSet. Where a copy of a
 * runtime's code does not tell which tasks belong together, it stands for all that were made of it.
 */
struct recording_runtime {
	uint32_t copy; /* index into the trace's runtimes */
	uint32_t object;
	const char *name, *version; /* of the copy */
	const char *scheduler;	    /* "multi_thread", "" when it is not known */
	uint64_t owner;		    /* its number in the copy; 0: it ran no task, or … */
	bool is_whole_copy;	    /* … it stands for all that were made of the copy */
	bool never_ran;		    /* … and there were none, as a pass has shown */
};

struct recording {
	struct trace *trace;
	const struct trace_meta *meta;
	struct recording_runtime *runtimes; /* by copy, then in the order of their making */
	struct model_runtimes model_runtimes;
	const struct trace_object *objects;
	const struct trace_type *types;
	const struct trace_thread *threads;
	const struct trace_future *futures;
	const struct trace_step *steps;
	const struct trace_path *paths;
	const struct trace_stand *stands;
	uint32_t nr_runtimes, nr_objects, nr_types, nr_threads, nr_steps, nr_paths, nr_futures,
		nr_stands;
	struct steps awaits; /* what steps mean */
	struct recording_group *groups;
	uint32_t *group_of_type; /* nr_types of them, and one for all other numbers */
	char **labels;		 /* of types whose names are lists; NULL when there are none */
	uint32_t nr_groups;
	struct recording_place *places; /* sorted by file and line */
	const struct trace_stack *stacks;
	uint32_t *place_of_stack; /* nr_stacks of them */
	uint32_t nr_places, nr_stacks;
	struct intern *names; /* of tasks, as far as they were met */
};

/* What of a recording is wanted. Zeroes: all of it. */
struct recording_view {
	uint64_t from_ns, to_ns; /* from … up to, but not at; to_ns 0: up to the end */
	struct filter *filter;	 /* model/filter.h: which tasks; NULL: all */
	/* Called every million events: how many were read, of how many. */
	void (*progress)(void *arg, uint64_t done, uint64_t all);
	void (*progress_end)(void *arg); /* called when all is read; or NULL */
	void *progress_arg;
};

struct filter;

struct recording_sink {
	const struct model_ops *ops;
	void *sink;
};

int recording_open(struct recording *rec, const char *path, struct err *e);
void recording_close(struct recording *rec);
/* Part of opening, for those who make a recording by hand: groups from types and nr_types. */
void recording_make_groups(struct recording *rec);
/* The same of runtimes. */
void recording_make_runtimes(struct recording *rec, const struct trace_runtime *copies,
			     uint32_t nr_copies, const struct trace_instance *instances,
			     uint32_t nr_instances);
/* What a pass has shown of them. */
void recording_learn_runtimes(struct recording *rec, const struct model *m);
void recording_release_runtimes(struct recording *rec);

/* "tokio multi_thread #1": the number is its index. Not cleaned; to be freed. */
char *recording_runtime_name(const struct recording *rec, uint32_t runtime);
/* More than one ran, as far as is known: it is worth telling which. */
bool recording_has_runtimes(const struct recording *rec);
/* "tokio": whose table the type's is; NULL when it is not known. */
const char *recording_type_library(const struct recording *rec, uint16_t type);
/* The only runtime of a type's copy, MODEL_NO_RUNTIME where there are several, or it never ran. */
uint32_t recording_type_runtime(const struct recording *rec, uint16_t type);

/*
 * One pass, or two where the filter needs them: what the view wants goes through a new model to the
 * sinks. The finished model is the caller's to free; it has the totals.
 */
struct model *recording_read(struct recording *rec, const struct recording_view *view,
			     const struct recording_sink *sinks, size_t nr);

/* Per kind what was lost, as the LOST events or the end of the recording tell. Returns the sum. */
uint64_t recording_get_lost(const struct recording *rec, const struct model *m,
			    uint64_t lost[EV_MAX]);

static inline uint32_t recording_group_of(const struct recording *rec, uint16_t type)
{
	return rec->group_of_type[MIN(type, rec->nr_types)];
}

#define RECORDING_NO_PLACE UINT32_MAX

/* Index into places: where the task was spawned, RECORDING_NO_PLACE when it is not known. */
static inline uint32_t recording_place_of(const struct recording *rec, const struct model_task *t)
{
	return t->spawn_stack < rec->nr_stacks ? rec->place_of_stack[t->spawn_stack]
					       : RECORDING_NO_PLACE;
}

/* The same as "file:line"; NULL when it is not known. To be freed. */
char *recording_spawn_place(const struct recording *rec, const struct model_task *t);

/*
 * "type#7" where the name is not known, "a or 7 others" where types were merged. The answer lies in
 * buf or in the recording.
 */
const char *recording_type_name(const struct recording *rec, uint16_t type, char buf[32]);
/* Where the type's future is defined as "file:line"; NULL when not known. To be freed. */
char *recording_type_place(const struct recording *rec, uint16_t type);
/* "the program exited with status 0": how it ended, as far as was seen. In buf, or constant. */
#define RECORDING_OUTCOME_SIZE 80
const char *recording_get_outcome(const struct recording *rec, char buf[RECORDING_OUTCOME_SIZE]);
/* "tokio-rt-worker", or "" */
const char *recording_thread_name(const struct recording *rec, uint32_t thread);
uint32_t recording_thread_tid(const struct recording *rec, uint32_t thread); /* 0: not known */

#endif
