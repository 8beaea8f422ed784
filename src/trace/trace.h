// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The definitions that stand beside the events of a trace file and make it self-contained. Both the
 * writer and the reader use these. Strings are borrowed: on writing from the caller for the length
 * of the call, on reading from the trace until it is closed. Numbers are indices in order of
 * definition.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/clock.h"
#include "base/util.h"

/* Written once, first. */
struct trace_meta {
	const char *tool; /* "futrace 0.1.0" */
	const char *exe;  /* path of the program, as the kernel names it */
	const char *const *argv;
	uint32_t argc;
	const char *cwd, *os, *cpu; /* os: sysname release machine */
	const char *host;
	uint32_t pid, uid, nr_cpus;
	uint32_t parent_pid; /* recorded with --follow: the process that started it, else 0 */
	enum clock_kind clock;
	uint64_t base_ticks; /* time 0 of the recording */
};

/* An ELF file mapped by the process. */
struct trace_object {
	const char *path;
	const char *build_id; /* hex, or "" */
	uint64_t base;
};

/* A copy of an async runtime inside an object. */
struct trace_runtime {
	uint32_t object;
	const char *name;    /* "tokio" */
	const char *version; /* "1.54.1", or "" when unknown */
};

enum trace_task_kind {
	TRACE_TASK,
	TRACE_LOCAL,
	TRACE_BLOCKING,
	TRACE_HELPER,  /* worker launch etc. */
	TRACE_BLOCK_ON /* a root future, not a task: a thread waits for it in block_on */
};

/* The future type behind one task table. One type may have several tables, and so several entries.
 */
struct trace_type {
	uint32_t runtime;
	enum trace_task_kind kind;
	const char *name;      /* readable, with module path; "" when unknown (stripped) */
	const char *scheduler; /* flavour: "multi_thread", "current_thread", "local", "blocking", or
				  "" */
	const char *file;      /* where the future is defined, or "" */
	uint32_t line;
	uint32_t nr_candidates; /* 1: exact; > 1: types were merged, name lists them with " | "; 0
				   with a name: others may have been merged with it */
	uint64_t va;		/* of the table */
	uint64_t size_bytes;	/* of the future, or of what it boxes; 0 when unknown */
	bool has_numbers;	/* events name tasks by their addresses, and tell their ids */
};

/* A stack that tasks were spawned on: the line of the program's own that did it. */
struct trace_stack {
	const char *file; /* "" when it is not known */
	uint32_t line;
	bool is_foreign; /* a library's: a line of the program's own is better, if there is one */
	bool is_local;	 /* tasks that were spawned on it stay on their thread */
	const char *scheduler; /* of a root: the flavour of its runtime; NULL or "": not known */
};

#define TRACE_MAX_INSTANCES 4096

/* A runtime or LocalSet of the process, as instance events name it. Number 0 is none. */
struct trace_instance {
	uint32_t type; /* of a task that it ran: tells the copy of the runtime, and the scheduler */
	uint64_t owner; /* the runtime's own number for it, in the order of their making; 0: not
			   defined, or known from a root future */
	uint64_t addr;	/* of the scheduler; of a root future: somewhere in it; 0: not known */
	const char *scheduler; /* where more is known than the type tells; else "" */
	uint64_t root; /* address that a root future told last on the thread that ran a task of it,
			  and so most likely in this scheduler; 0: none */
};

/* A flavour that no type tells: its tasks have the tables of another, but stay on their thread. */
#define TRACE_LOCAL_RUNTIME "local_runtime"

#define TRACE_NO_STEP	    UINT32_MAX

enum trace_step_state {
	TRACE_STEP_WAITS,	/* at file and line, for the next step or, as a leaf, for `leaf` */
	TRACE_STEP_NOT_STARTED, /* was never polled */
	TRACE_STEP_DONE,	/* finished, and kept by the future around it */
	TRACE_STEP_READY,	/* a leaf whose wait was over when the poll began */
};

/*
 * One future on the way from a task down to what it waits for. Steps make a tree: all tasks that
 * stood at the same place share them.
 */
struct trace_step {
	uint32_t outer; /* step of the future that awaits this one, TRACE_NO_STEP: it is the task's
			   own */
	enum trace_step_state state;
	bool is_generated;    /* an async fn or block, not a future written by hand */
	const char *future;   /* type, readable */
	const char *function; /* that a generated future is the body of, or "" */
	const char *file;     /* where it awaits, or "" */
	uint32_t line;	      /* last_line not 0: in a macro, somewhere in these lines */
	uint32_t last_line;
	const char *leaf; /* what kind of thing a leaf waits for: "sleep", "mutex", or "" */
	bool is_foreign;  /* file is a library's: a line of the program's own tells more */
	bool is_borrowed; /* by the future around it: when that is over, this one need not be */
};

/* Where a task stood between two polls: the last step of each branch (join!, select! have many). */
struct trace_path {
	const uint32_t *steps;
	uint32_t nr_steps;
};

/*
 * A task that no thread was about to poll stood there at that moment. Only tasks that still waited
 * at the final census have one: otherwise the run that ends a wait has the path.
 */
struct trace_stand {
	uint64_t task; /* as events name it, with its type */
	uint64_t time; /* on writing ticks of the clock, on reading ns since time 0 */
	uint32_t path;
	uint16_t type;
};

/*
 * An inner future whose polls are recorded one by one, as future-start events name it: one that the
 * compiler kept a function for. A type may have several.
 */
enum trace_future_seen {
	TRACE_FUTURE_ALL,    /* every poll is recorded */
	TRACE_FUTURE_SOME,   /* in places the compiler made its code a part of others */
	TRACE_FUTURE_UNSURE, /* … perhaps: debug info does not tell */
};

struct trace_future {
	uint32_t object;
	enum trace_future_seen seen;
	bool is_generated;    /* an async fn or block, not a future written by hand */
	const char *name;     /* of the type, readable; several that were merged: "a | b" */
	const char *function; /* that a generated one is the body of, or is written in; or "" */
	const char *file;     /* where it is written, or "" */
	uint32_t line;
	uint64_t va; /* of the function that polls it */
};

struct trace_thread {
	uint32_t tid;
	const char *name; /* the last one it had, or "" */
};

/* The kernel's counts for a thread at one moment, since the thread began. */
struct trace_cpu {
	uint32_t thread;
	uint64_t time; /* on writing ticks of the clock, on reading ns since time 0 */
	uint64_t cpu_ns;
	uint64_t wait_ns; /* runnable, and no CPU was free */
};

enum trace_end_kind {
	TRACE_CUT,	/* no end block: the recorder died or the file was cut */
	TRACE_EXITED,	/* status: exit code */
	TRACE_SIGNALED, /* status: signal number */
	TRACE_EXECED,	/* the process went on as another program */
	TRACE_STOPPED,	/* recording ended first (duration, size, Ctrl-C twice); status: enum
			   trace_stop */
	TRACE_GONE,	/* the process ended, and only its parent knows how */
};

enum trace_stop {
	TRACE_STOP_DURATION = 1,
	TRACE_STOP_SIZE,
	TRACE_STOP_INTERRUPT,
	TRACE_STOP_ERROR
};

struct trace_end {
	enum trace_end_kind kind;
	uint32_t status;
	uint64_t ticks;		/* when */
	uint64_t tool_cpu_ns;	/* what recording cost futrace itself */
	uint64_t target_cpu_ns; /* CPU time of the program, 0 when unknown */
	uint64_t lost[32];	/* events per kind that never reached a ring */
	uint64_t nr_unslotted;	/* threads that could not be recorded */
	uint64_t nr_unfollowed; /* children by fork, without exec, that were not recorded */
	uint64_t
		nr_apart; /* libraries with a runtime in a link namespace of their own: not recorded
			   */
	uint64_t nr_unredirected; /* functions that were planned and not redirected: their root
				     futures, spawns and sleeps are missing */
	/* runs of tasks without a path because there were too many paths, or because the task
	 * contradicts debug info */
	uint64_t nr_no_path, nr_bad_path;
};

#endif
