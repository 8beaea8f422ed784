// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Errors for people. A function that may fail for a reason worth telling takes a `struct err *`
 * last (NULL: not interested) and returns a negative value or NULL. The message is one line: what
 * failed, why, and what to do. The tag is for programs and tests, which must not match wording.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/util.h"

enum err_tag {
	ERR_NONE,
	ERR_SYS,	/* a system call failed */
	ERR_USAGE,	/* the command line is wrong */
	ERR_NOT_ELF,	/* no ELF file */
	ERR_FOREIGN,	/* ELF, but of another architecture */
	ERR_BAD_ELF,	/* ELF, but broken */
	ERR_NOT_ASYNC,	/* no async runtime inside */
	ERR_NO_DWARF,	/* debug info is missing */
	ERR_STATIC,	/* a static program: the agent cannot be preloaded */
	ERR_SETUID,	/* the loader ignores LD_PRELOAD for it */
	ERR_NO_AGENT,	/* libfutrace-agent.so was not found */
	ERR_NOT_TRACE,	/* no trace file */
	ERR_BAD_TRACE,	/* a trace file, but broken */
	ERR_VERSION,	/* a trace file of a newer version */
	ERR_NO_PROCESS, /* no such process */
	ERR_NO_TASK,	/* no such task in the recording */
	ERR_TOO_LARGE,	/* does not fit into the size that was wanted */
	ERR_PERMISSION, /* may not look at that process or file */
};

struct err {
	enum err_tag tag;
	char msg[1024];
};

#define ERR_INIT                \
	{                       \
		.tag = ERR_NONE \
	}

/* A reason that several have. */
#define ERR_TEXT_NO_PROC "/proc is not mounted here ('mount -t proc proc /proc' does it)"

/* Sets tag and message; always returns -1, so that `return err_set(…)` reads well. */
int err_set(struct err *e, enum err_tag tag, const char *fmt, ...) PRINTF(3, 4);
/* The same with ": " and the text of errno behind it. */
int err_sys(struct err *e, const char *fmt, ...) PRINTF(2, 3);
/* Puts "text: " in front of what is there. */
int err_prefix(struct err *e, const char *fmt, ...) PRINTF(2, 3);

#endif
