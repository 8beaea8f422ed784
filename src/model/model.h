// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Events in, tasks out: one streaming pass that turns the events of a recording into tasks, polls,
 * wakes and threads. Everything that analyses or exports is a *sink* of this one model: a table of
 * functions that are called as things become certain. Nothing that is finished is kept, so memory
 * grows with live tasks, threads and types, not with events.
 *
 * Words. A *run* is one call into a task, from RUN_START to RUN_END; a run that calls the future's
 * poll is a *poll*, the others drop the future (cancelled at entry, or the runtime goes away). Runs
 * nest on a thread. A *helper* is a task of the runtime itself (a worker's main loop): it makes its
 * thread a worker and is otherwise invisible.
 *
 * Invariant: for every task spawn_ns … end_ns (or the end of the recording) is the sum of its ns[],
 * exactly.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "trace/event.h"
#include "trace/trace.h"

enum model_state {
	MODEL_RUNNING,
	MODEL_SCHEDULED, /* runnable, waits for a worker */
	MODEL_IDLE,	 /* waits for something */
	MODEL_UNKNOWN,	 /* events were lost meanwhile, or it was not yet seen to do anything */
	MODEL_NR_STATES
};

enum model_end { MODEL_ALIVE, MODEL_COMPLETED, MODEL_CANCELLED, MODEL_PANICKED, MODEL_DROPPED };
#define MODEL_NR_ENDS 5

enum model_cause {
	MODEL_BY_WORKER, /* driver, timer, deferred yield */
	MODEL_BY_TASK,	 /* another task */
	MODEL_BY_SELF,
	MODEL_BY_THREAD, /* a thread outside the runtime */
	MODEL_BY_ABORT,
	MODEL_NR_CAUSES
};

/*
 * Tasks without ids are numbered from 1 on, in the order of their first runs. Where other tasks of
 * the same copy of a runtime have ids, they are numbered from here on, so that none is there twice.
 */
#define MODEL_FIRST_NUMBER UINT64_C(1000000000001)
#define MODEL_MAX_NAMES	   (1u << 18) /* different ones; of more, the names are not told */

#define MODEL_NO_RUNTIME   UINT32_MAX /* the task's table is of no known type */
#define MODEL_NO_THREAD	   UINT32_MAX
#define MODEL_NO_STACK	   UINT32_MAX
#define MODEL_NO_PATH	   UINT32_MAX
#define MODEL_NO_RUN	   UINT64_MAX

/*
 * Who a task is. Ids repeat across the copies of a runtime in one process, which are not always
 * told apart; id and type are together unique.
 */
struct model_key {
	uint64_t id;
	uint32_t runtime; /* index into the recording's runtimes, MODEL_NO_RUNTIME */
	uint16_t type;	  /* index into the trace's types, EVENT_TYPE_NONE */
};

/* For maps of tasks. Ids are counters: they stay small. */
static inline uint64_t model_key_pack(const struct model_key *key)
{
	return key->id ^ (uint64_t)key->type << 48;
}

/* What changes with every poll comes first, in as few cache lines as can be. */
struct model_task {
	struct model_key key;
	uint64_t ns[MODEL_NR_STATES]; /* its life by state */
	uint64_t polls, max_poll_ns;
	uint64_t max_sched_ns;		 /* the longest it waited for a worker before one run */
	uint64_t wakes[MODEL_NR_CAUSES]; /* transitions to runnable; spawn is none */
	uint32_t slot; /* a small number that no other live task has: where a sink keeps its own */
	enum trace_task_kind kind;
	enum model_end end;
	bool spawn_exact; /* the spawn itself was seen; otherwise spawn_ns is the first sighting */
	bool has_parent;  /* parent is valid; with spawn_exact and without this, no task spawned it
			   */
	bool is_wanted;	  /* at the end, or before it panicked, somebody held its JoinHandle; only
			   * when ended */
	bool is_let_go;	  /* its JoinHandle was dropped, and its output never taken */
	const char *name; /* that the program gave it, NULL: none, or not known */
	uint32_t spawn_thread; /* MODEL_NO_THREAD when unknown */
	uint32_t spawn_stack;  /* index into the trace's stacks, MODEL_NO_STACK when unknown */
	/* of a task that was still waiting at the end: where; an index into the trace's paths,
	 * MODEL_NO_PATH when unknown. Final when the task is told */
	uint32_t last_path;
	struct model_key parent;
	uint64_t spawn_ns, end_ns; /* end_ns of a task alive: the end of the recording */
	uint64_t nr; /* counts all tasks in the order of their first sighting; the same in each pass
		      */
	uint64_t blocked_ns,
		max_blocked_ns; /* asleep in the kernel inside its runs; part of running */
};

/* Who made a task runnable. */
struct model_waker {
	struct model_key key;
	uint64_t time_ns; /* when; before the start of the view for what was runnable then */
	uint32_t thread;  /* MODEL_NO_THREAD for a self-wake that was only inferred */
	enum model_cause cause : 8;
	bool has_key; /* BY_TASK, BY_SELF when seen, BY_ABORT when a task did it */
};

/*
 * One run, told when it is over. What came before it, since the run before or the spawn: idle_ns
 * without anything to do, then sched_ns runnable; so it became runnable at start_ns - sched_ns.
 */
struct model_run {
	const struct model_task *task; /* key, kind and spawn are final, counts as of now */
	uint64_t start_ns, end_ns;
	uint64_t blocked_ns; /* in the kernel meanwhile */
	uint64_t idle_ns, sched_ns;
	uint64_t outer_start_ns; /* of the run around it on its thread, MODEL_NO_RUN */
	uint64_t around_ns;	 /* start of what is around it: that run, or the poll of a future */
	const struct model_waker *waker; /* NULL: its spawn made it runnable, or it is not known */
	uint32_t thread;
	uint32_t path;	     /* where the task stood when it began, since its run before; an index
				into the trace's paths, MODEL_NO_PATH when unknown */
	uint8_t flags;	     /* EF_RUN_DROP, EF_RUN_SHUTDOWN; 0: a poll */
	uint8_t sleep_flags; /* EF_SLEEP_…: what it slept in, of all its sleeps */
	bool is_gap_known;   /* idle_ns and sched_ns are all that came before it */
	bool is_first;	     /* the task's first run, as far as is known */
	bool is_off_worker;  /* block_in_place: another thread took its worker over meanwhile */
	bool is_alone;	     /* a root's whose thread runs no tasks: nobody waits for its end */
	bool is_open;	     /* the recording ended first */
	bool is_panicked; /* a panic began in it, or ended it, and was perhaps printed meanwhile */
	/* It was cut to fit its task's other runs, and no longer holds all that its thread did in
	 * it: of all runs and sleeps of a thread, only those that are not torn are sure to nest. */
	bool is_torn;
};

struct model_wake {
	const struct model_task *task;
	uint64_t time_ns; /* may lie in the past: that a task woke itself shows at its next run */
	const struct model_waker *waker;
};

/* A thread asleep in the kernel, told when it is awake again. */
struct model_sleep {
	uint64_t start_ns, end_ns;
	const struct model_task *task; /* in whose run; NULL: outside of runs */
	uint64_t run_start_ns;	       /* of that run */
	uint64_t around_ns; /* start of what is around it: that run, or the poll of a future */
	uint32_t thread;
	uint8_t flags; /* EF_SLEEP_… */
};

/*
 * One poll of an inner future, told when it is over: of an inner one before that of the one around
 * it. Runs of tasks may lie in it as well (block_on, a LocalSet).
 */
struct model_future {
	uint32_t future; /* index into the trace's futures */
	uint32_t thread;
	uint32_t depth; /* polls of futures around it, in the same run */
	uint64_t start_ns, end_ns;
	uint64_t self_ns;	       /* without what was recorded inside of it */
	const struct model_task *task; /* in whose run; NULL: in none that is told */
	uint64_t run_start_ns;	       /* of that run */
	uint64_t around_ns; /* start of what is around it: that run, or the poll of a future */
	uint32_t path;	    /* of that run, MODEL_NO_PATH */
	uint8_t flags;	    /* EF_FUTURE_…: what it returned; 0: not known */
	bool is_open;	    /* the recording ended first */
	bool is_recursive;  /* in a poll of the same future, on this thread */
	/* Nothing was polled before it in what is around it, and so on outwards: the run has gone
	 * on where its path led. */
	bool is_resumed;
};

/* What the program itself says of a mark or span, by a name of its own. */
enum model_field_kind { MODEL_UNSIGNED, MODEL_SIGNED, MODEL_FLOAT, MODEL_TEXT };
#define MODEL_MAX_FIELDS     4
#define MODEL_MAX_TEXT_BYTES 128 /* in all fields of one */

struct model_field {
	uint32_t name; /* number of a string of the trace, as all names here; 0: not known */
	enum model_field_kind kind;
	uint64_t value; /* a signed one, or the bits of a fraction, as they are */
	const char *text;
	uint32_t text_len;
};

/* Something that the program says happened. */
struct model_mark {
	uint32_t name, thread;
	uint64_t id; /* the program's own, 0: none */
	uint64_t time_ns;
	const struct model_task *task; /* in whose run; NULL: in none that is told */
	const struct model_field *fields;
	uint32_t nr_fields;
};

/* … or that it says lasted, told when it is over. It may have ended on another thread, or in
 * another task. */
struct model_span {
	uint32_t name, thread, end_thread;
	uint32_t lane; /* a small number that no other span of its name had while it was open */
	uint64_t id, start_ns, end_ns;
	struct model_key task; /* in whose run it began; has_task: if it did */
	uint64_t task_nr;
	bool has_task;
	bool is_open; /* the recording ended first */
	const struct model_field *fields;
	uint32_t nr_fields;
};
#define MODEL_MAX_OPEN_SPANS (1u << 20) /* of more at once, the later ones are not told */

enum model_thread_kind { MODEL_OTHER, MODEL_WORKER, MODEL_BLOCKING };

struct model_thread {
	uint32_t thread; /* index into the trace's threads */
	enum model_thread_kind kind;
	uint32_t runtime; /* MODEL_NO_RUNTIME when it is no worker or not known */
	bool is_launched; /* a worker of a multi-threaded runtime: others could do its work */
	uint64_t polls, busy_ns;	/* busy: inside the run of any task */
	uint64_t asleep_ns, sleeps;	/* in the kernel outside of runs */
	uint64_t blocked_ns, nr_blocks; /* in the kernel inside of runs */
	uint64_t max_blocked_ns;
};

/* A sink. Every function may be NULL. What it is given is good during the call only. */
struct model_ops {
	/*
	 * Once for every task, when it is first seen to run or to be woken. Its spawn may lie in
	 * the past. (A helper without a name can only be recognised later: then this is all that is
	 * told of it.)
	 */
	void (*spawn)(void *sink, const struct model_task *task);
	void (*run)(void *sink, const struct model_run *run);
	void (*wake)(void *sink, const struct model_wake *wake);
	void (*sleep)(void *sink, const struct model_sleep *sleep);
	void (*future)(void *sink, const struct model_future *future);
	void (*mark)(void *sink, const struct model_mark *mark);
	void (*span)(void *sink, const struct model_span *span);
	/*
	 * At once when a task ends, as it seems; and again, with end MODEL_ALIVE, if it turns out
	 * that it did not. For those who must know how many there are.
	 */
	void (*end)(void *sink, const struct model_task *task);
	/*
	 * The program lets go of the JoinHandle of a task that was told of, and has not taken its
	 * output. Of others it shows in their is_let_go. Not of tasks without ids.
	 */
	void (*let_go)(void *sink, const struct model_key *task);
	/* Once for every task: soon after its end, or when the recording ends. */
	void (*task)(void *sink, const struct model_task *task);
	/* Once for every thread that had an event, when the recording ends. */
	void (*thread)(void *sink, const struct model_thread *thread);
};

/* What the model says of the stream itself. */
struct model_totals {
	uint64_t nr_events;
	uint64_t nr_events_by_kind[EV_MAX];
	uint64_t lost[EV_MAX];	      /* told by LOST events */
	uint64_t nr_spawns_unmatched; /* allocations that were not seen to become a task */
	uint64_t nr_stray; /* events that fit nothing before them: ends without a start … */
};

struct model;

struct model *model_new(const struct trace_type *types, uint32_t nr_types);
/*
 * Of a recording that goes on more is known as time goes by: this and the other setters of
 * definitions may be called again at any time, with all that there are by then. What was there
 * before keeps its number. Each must have come before the first event that needs it.
 */
void model_set_types(struct model *m, const struct trace_type *types, uint32_t nr_types);
void model_free(struct model *m);
/*
 * The runtimes of a process, of which one copy of a runtime's code may make several. Without them
 * a copy is a runtime. Borrowed.
 */
struct model_runtimes {
	const uint32_t *of_instance; /* by the number that instance events have */
	const uint32_t *copy_of;     /* whose code it runs: trace_type.runtime */
	const bool *is_set;	     /* a LocalSet: it has no threads of its own */
	const bool *is_local;	     /* all its tasks stay on their thread: a LocalRuntime */
	/* by copy: whose a task is of which nothing else is known, and a closure of the blocking
	 * pool; MODEL_NO_RUNTIME where there are several */
	const uint32_t *of_task, *of_blocking;
	uint32_t nr_instances, nr, nr_copies;
};
void model_set_runtimes(struct model *m, const struct model_runtimes *r);
/* Which places of spawns are known, and whose they are. Borrowed. */
void model_set_stacks(struct model *m, const struct trace_stack *stacks, uint32_t nr);
/* Where names of tasks are kept; without it there are none. Borrowed; before the first event. */
struct intern;
void model_set_names(struct model *m, struct intern *names);
/* Which paths are known. Borrowed. */
void model_set_paths(struct model *m, const struct trace_path *paths, uint32_t nr);
/* Where tasks were seen to stand. Borrowed; before model_finish, if the end is the recording's own.
 */
void model_set_stands(struct model *m, const struct trace_stand *stands, uint32_t nr);
/* At most MODEL_MAX_SINKS, before the first event. */
#define MODEL_MAX_SINKS 32
void model_add_sink(struct model *m, const struct model_ops *ops, void *sink);
/*
 * What is not wanted is as if it were a helper: nothing is told of it. Asked once for each task, at
 * its first sighting: key, kind and nr are final, the rest is not. Before the first event.
 */
void model_set_filter(struct model *m, bool (*wants)(void *arg, const struct model_task *t),
		      void *arg);
/*
 * Only what happens from start_ns on is told and counted. What was before is read, so that it is
 * known which tasks there are and what they do; to the sinks these were first seen at start_ns.
 * Before the first event.
 */
void model_set_start(struct model *m, uint64_t start_ns);
/* In order of time; what runs backwards is clamped. */
void model_feed(struct model *m, const struct event *evs, size_t nr);
/*
 * The recording, or what is wanted of it, ended at end_ns. lost: per kind all that was lost, NULL
 * when not known beyond what the LOST events told. Call it once, after the last event.
 */
void model_finish(struct model *m, uint64_t end_ns, const uint64_t *lost);
const struct model_totals *model_get_totals(const struct model *m);
/* The runtime's own task, as its kind says or as it turned out. */
bool model_type_is_helper(const struct model *m, uint16_t type);
/* There was a task of it, though it may never have run. */
bool model_type_has_tasks(const struct model *m, uint16_t type);
/* Where tasks of the type ran: right inside a worker's main loop, or not. Dropping is not running.
 */
#define MODEL_IN_WORKER 1
#define MODEL_OUTSIDE	2
unsigned model_type_get_places(const struct model *m, uint16_t type);
/* The same of tasks of a runtime. */
unsigned model_runtime_get_places(const struct model *m, uint32_t runtime);
/* A LocalRuntime, as it is told or as a task showed that was spawned on it. */
bool model_runtime_is_local(const struct model *m, uint32_t runtime);
/* Its flavour, as the stack of a root of it told; NULL: none did. */
const char *model_runtime_get_scheduler(const struct model *m, uint32_t runtime);
uint64_t model_get_start(const struct model *m);
uint64_t model_get_end(const struct model *m);	    /* after model_finish */
uint64_t model_get_duration(const struct model *m); /* after model_finish: from start to end */

/* Of a task, or of all tasks of a type: by whatever cause. */
static inline uint64_t model_sum_wakes(const uint64_t wakes[MODEL_NR_CAUSES])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		sum += wakes[i];
	return sum;
}

const char *model_end_name(enum model_end end);
const char *model_cause_name(enum model_cause cause);
const char *model_thread_kind_name(enum model_thread_kind kind);
const char *model_sleep_name(uint8_t flags);  /* "futex", of EF_SLEEP_… */
const char *model_result_name(uint8_t flags); /* "ready", "pending", "unwound", of EF_FUTURE_… */
const char *model_seen_name(enum trace_future_seen seen);
const char *model_kind_name(enum trace_task_kind kind);

#endif
