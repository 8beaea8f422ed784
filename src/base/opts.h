// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Command-line options as a table. The same table parses, prints -h, is what the manual is checked
 * against, and makes the shell completions. Each option stores into a member of the command's own
 * options struct:
 *
 *	static const struct opt table[] = {
 *		OPT('o', "output", OPT_STR, struct record_opts, output, "FILE", "write to FILE"),
 *		{ 0 },
 *	};
 *
 * Types stored: OPT_FLAG bool, OPT_STR const char * (borrowed from argv), OPT_UINT uint64_t,
 * OPT_SIZE uint64_t bytes (K M G suffixes), OPT_TIME uint64_t ns (ns us ms s m h, seconds if bare),
 * OPT_LIST struct opt_list: may be given several times, OPT_MAYBE const char *: an OPT_STR whose
 * argument may be left out, "" then; as a word of its own that must not begin with '-'.
 *
 * The name of the argument is also what a shell completes it by: FILE, DIR, PID; others, nothing.
 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include "base/err.h"
#include "base/strbuf.h"

enum opt_kind { OPT_FLAG, OPT_STR, OPT_MAYBE, OPT_UINT, OPT_SIZE, OPT_TIME, OPT_LIST };

struct opt_list {
	const char **v; /* each borrowed from argv; opts_release frees the array */
	size_t nr;
};

struct opt {
	char letter;	  /* or 0 */
	const char *name; /* NULL ends the table */
	enum opt_kind kind;
	size_t offset;
	const char *arg; /* what to call the argument in help; NULL for a flag */
	const char *help;
	const char *const *choices; /* the only words that it takes, to NULL; NULL: any */
};

#define OPT(letter, name, kind, type, member, arg, help)              \
	{                                                             \
		letter, name, kind, offsetof(type, member), arg, help \
	}
/* An OPT_STR that takes one word of a list, which ends with NULL. -h names them behind the help. */
#define OPT_CHOICE(letter, name, type, member, arg, help, choices)                \
	{                                                                         \
		letter, name, OPT_STR, offsetof(type, member), arg, help, choices \
	}

/* Where options end: at "--" in any case. */
enum opts_end {
	OPTS_AT_DASHES,
	OPTS_AT_OPERAND,  /* also at the first operand */
	OPTS_KEEP_DASHES, /* and that stays among the operands, to tell what stood before it */
};

/*
 * Parses argv[1..]; argv[0] is the command's name. Options may stand among operands, until they
 * end. Operands are moved to the front of argv + 1 and their number is returned; negative on error.
 */
int opts_parse(const struct opt *table, void *into, int argc, char **argv, enum opts_end end,
	       struct err *e);
void opts_release(const struct opt *table, void *into);	     /* what parsing allocated */
void opts_help(const struct opt *table, struct strbuf *out); /* two columns, one line an option */

/* "10M" -> bytes, "1.5s" -> ns. Return 0 or -1. */
int parse_size(const char *s, uint64_t *bytes);
int parse_time(const char *s, uint64_t *ns);
/* Digits and nothing else. -1 with errno ERANGE: there are too many. */
int parse_uint(const char *s, uint64_t *value);
/* The same of a number that a process can have. */
int parse_pid(const char *s, uint32_t *pid);

#endif
