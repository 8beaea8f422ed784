// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * CMD: found as a shell finds it, looked at before it runs, started with the agent where that can
 * work, and its exit status as a shell tells it.
 */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include <sys/types.h>

#include "capture/catalog.h"
#include "capture/limits.h"
#include "capture/lobby.h"
#include "wire/preload.h"

struct target_look {
	char *path;  /* the file that is executed */
	char *image; /* the ELF file that runs then: path, or a script's interpreter */
	bool is_script;
	bool agent_works;
	bool is_unreadable;		    /* image may be executed, but not read */
	char sanitizer[WIRE_SANITIZER_MAX]; /* the runtime that it links; "" if none */
	struct err note; /* why it cannot be recorded, to be told beforehand; ERR_NONE: it may be */
};

/*
 * Finds cmd along path_env (NULL: the system's default) and looks what it is. -1: it cannot be run,
 * *status is 126 or 127. What cannot be recorded is no error but a note.
 */
int target_look(struct target_look *t, const char *cmd, const char *path_env, struct catalog *c,
		int *status, struct err *e);
void target_look_release(struct target_look *t);

struct target_start {
	const char *path;
	char *const *argv;
	char *const *envp;
	const char *agent;	     /* NULL: without */
	const char *sanitizer;	     /* a library to be loaded before the agent; NULL or "": none */
	const struct limits *limits; /* its own; NULL: ours */
	bool may_be_script; /* what the kernel cannot execute is given to the shell, as execvp does
			     */
};

/*
 * Starts it with the signals that futrace itself was started with (signals_ignore and
 * signals_catch must have been called). Returns the pid. -1: it could not be executed, *status is
 * 126 or 127.
 */
pid_t target_spawn(const struct target_start *s, const struct lobby *l, int *status, struct err *e);
/* Becomes it, without the agent, and with the same signals. Returns only when that failed, with the
 * same. */
void target_become(const struct target_start *s, int *status, struct err *e);

#endif
