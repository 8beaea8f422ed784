// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by the files that make up a session; nobody else includes it. */
#ifndef CAPTURE_SESSION_PRIV_H
#define CAPTURE_SESSION_PRIV_H

#include "capture/session.h"
#include "capture/target.h"

/* What the processes that are gone have shown, for the reason why a recording is empty. */
struct session_seen {
	unsigned nr_processes;
	uint64_t nr_objects, nr_tables, nr_hooked, nr_task_events, nr_unreadable;
	uint64_t nr_unfollowed; /* children by fork, also those that did not come in in time */
	uint64_t nr_apart;	/* libraries with a runtime that dlmopen loaded */
	bool has_left;		/* a process became a program that did not come in */
	uint32_t note;		/* enum wire_note */
	char *exe;		/* the latest of CMD itself */
	char *runtime; /* "tokio 1.54.1": the first that was found, with tasks if any has */
	bool runtime_has_tables;
	char *refusal; /* why tables of a runtime are not hooked, or NULL */
};

struct session {
	const struct session_opts *o;
	struct lobby lobby;
	struct catalog catalog;
	struct target_look look;
	struct output out; /* FILE, until a process takes it over; again, if nothing came of it */
	bool out_taken;
	char *out_beside; /* other files are named after it; NULL: FILE is written as it is */
	bool door_failed; /* said once */
	struct process *by_door[WIRE_MAX_DOORS];
	pid_t pid;	      /* CMD */
	struct limits limits; /* its own */
	uint32_t nr_cpus;
	uint64_t start_ns;
	uint64_t done_bytes, done_events, done_lost; /* of files that are complete */
	enum trace_stop stopped;		     /* 0: recording */
	struct session_seen seen;

	bool is_dead; /* CMD has ended, with wait_status */
	int wait_status;
	uint64_t target_cpu_ns;
	int left_by;		  /* the signal that made us leave before it, or 0 */
	uint64_t first_signal_ns; /* 0: none yet */
	bool signal_told;
	uint64_t look_until_ns; /* 0: it is not yet looked where tasks wait that still do */
	bool look_told;
	bool is_hurried; /* … and somebody does not want to wait for that */
};

void session_note(const struct session *s, enum err_tag tag, const char *fmt, ...) PRINTF(3, 4);

/* Why a file ends early, once. */
void session_tell_error(const struct session *s, struct process *p);

/* ---- doors.c: processes that come and go ---- */

/* Takes in who has come through a door since, answers what is announced. */
void session_look_at_doors(struct session *s);
/* Ends the files of processes that died, but for CMD itself. */
void session_look_for_dead(struct session *s);
/*
 * Before a recording is stopped: has been looked where tasks wait that still do, or is there no
 * more time? False: again in a moment, and events are to be read meanwhile.
 */
bool session_has_looked(struct session *s, uint64_t now);
/* Nothing more is recorded of anybody: files are ended, tables restored. */
void session_stop(struct session *s, enum trace_stop why);
/* CMD is gone, or we leave it: everything is drained and ended. */
void session_finish(struct session *s);

/* ---- why.c ---- */
void why_look_at(struct session_seen *seen, const struct process *p, bool is_target);
void why_empty(const struct session *s, struct err *e);
void why_release(struct session_seen *seen);

#endif
