// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A recording from start to end: looks at CMD, starts it, answers its agents, drains their rings
 * into trace files, passes signals on, and returns CMD's status. One thread, one loop. What people
 * should know comes through the callbacks.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "capture/process.h"

/* A file that is complete. */
struct session_file {
	const char *path;
	uint32_t pid;
	struct process_sum sum;
	bool is_regular;
	bool is_of_command; /* of CMD itself, not of a child of it */
	bool is_whole;	    /* no write error */
	enum trace_end_kind end;
	uint32_t status; /* exit status, signal or enum trace_stop, by end */
};

struct session_progress {
	uint32_t pid; /* CMD's */
	uint64_t elapsed_ns, nr_events, nr_lost, bytes;
	unsigned nr_processes;
};

struct session_ops {
	/* One line for the user; the tag says what about. Why nothing was recorded comes last. */
	void (*note)(void *arg, const struct err *note);
	void (*progress)(void *arg, const struct session_progress *progress); /* once a second */
	void (*file)(void *arg, const struct session_file *file);
};

struct session_opts {
	char *const *argv; /* CMD and its arguments, ends with NULL */
	char *const *envp; /* its environment without us */
	const char *path_env;
	const char *output;
	const char *agent;	/* as LD_PRELOAD is to name it */
	const char *agent_real; /* as the kernel names it */
	const char *cache_dir;	/* NULL: none */
	uint64_t ring_bytes;	/* 0: default */
	uint64_t max_memory;	/* for events that were not yet read; 0: by the limits there are */
	uint64_t max_bytes;	/* 0: unlimited */
	uint64_t duration_ns;	/* 0: unlimited */
	bool follow;
	bool only_probes; /* records nothing: for whoever looks at the probes; output is not used */
	bool no_roots;	  /* leaves the program's code as it is */
	bool no_await;	  /* does not look where tasks stand when they are polled */
	const struct futures_wanted *futures; /* inner futures to be recorded; NULL: none */
	bool no_spawn_places; /* spares the program the walk of a stack for each spawn */
	const struct session_ops *ops;
	void *arg;
};

/*
 * Returns 0 with CMD's exit status (128+n for signal n), or -1 when CMD was not run: then *status
 * is what to exit with (1, 126 or 127).
 */
int session_run(const struct session_opts *o, int *status, struct err *e);
/*
 * Out of memory: the recording stays as far as it was written, the agents stop, and CMD is waited
 * for. Its exit status, or -1 when no CMD is running. Allocates nothing.
 */
int session_abandon(void);
bool session_is_running(void);

#endif
