// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A subcommand: one file cmd/NAME.c with one `const struct command`, one line in commands.h, and
 * one manual page docs/man/futrace-NAME.1.scd. Only this folder prints, reads argv or the
 * environment, or exits.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "base/opts.h"
#include "show/note.h"

/* What a command's operands are: decides what a shell offers for them. */
enum operands {
	OPERANDS_TRACE, /* trace files */
	OPERANDS_NONE,
	OPERANDS_ANY,	  /* files, whatever their names */
	OPERANDS_BINARY,  /* a compiled program, or a process id */
	OPERANDS_PROCESS, /* a process id */
	OPERANDS_PROGRAM, /* a program to run and its arguments */
	OPERANDS_COMMAND, /* a command of futrace */
	OPERANDS_CHOICE,  /* a word of `choices` */
};

struct command {
	const char *name;
	const char *summary;	   /* one line for `futrace help` */
	const char *synopsis;	   /* operands and the like: "[options] -- CMD ARGS..." */
	const struct opt *options; /* NULL-terminated table, NULL: none */
	size_t options_size;	   /* of the struct that the table fills */
	const void *defaults;	   /* what that struct starts as, NULL: zeroes */
	bool stop_at_operand;	   /* what follows the first operand belongs to somebody else */
	bool keeps_dashes;	   /* "--" is an operand: a program to run stands behind it */
	bool is_reader;		   /* reads foreign bytes: it runs confined (symbol/reader.h) */
	enum operands operands;
	const char *const *choices; /* to NULL */
	/* argv[0..nr) are the operands. Returns the exit status. */
	int (*run)(const void *options, int nr, char **argv);
};

/* Exit statuses. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_FINDINGS = 3 };

/* "futrace NAME: message" on stderr; fail() returns EXIT_FAILED, usage() EXIT_USAGE. */
int cmd_fail(const struct err *e);
int cmd_usage(const char *fmt, ...) PRINTF(1, 2);
void cmd_note(const char *fmt, ...) PRINTF(1, 2);
extern const struct note_sink cmd_notes; /* cmd_note, for what writes notes to a sink */

/* Where what was learnt of programs is kept: $XDG_CACHE_HOME/futrace, else ~/.cache/futrace; NULL
 * when there is no home. The caller frees it. */
char *cmd_cache_dir(void);

/* `futrace report PATH`, as `record --report` shows it (report.c). */
void cmd_report_show(const char *path, bool is_quiet);

/* The trace file that an operand names; futrace.data when there is none. */
#define CMD_DEFAULT_FILE "futrace.data"

#endif
