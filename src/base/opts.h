// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Command-line options as a table. The same table parses, prints -h, makes the manual's SYNOPSIS
 *and the shell completions. Each option stores into a member of the command's own options struct:
 *
 *	static const struct opt table[] = {
 *		OPT('o', "output", OPT_STR, struct record_opts, output, "FILE", "write to FILE"),
 *		{ 0 },
 *	};
 *
 * Types stored: OPT_FLAG bool, OPT_STR const char * (borrowed from argv), OPT_UINT uint64_t,
 * OPT_SIZE uint64_t bytes (K M G suffixes), OPT_TIME uint64_t ns (ns us ms s m h, seconds if bare),
 * OPT_LIST struct opt_list: may be given several times.
 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include "base/err.h"
#include "base/strbuf.h"

enum opt_kind { OPT_FLAG, OPT_STR, OPT_UINT, OPT_SIZE, OPT_TIME, OPT_LIST };

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
};

#define OPT(letter, name, kind, type, member, arg, help)              \
	{                                                             \
		letter, name, kind, offsetof(type, member), arg, help \
	}

/*
 * Parses argv[1..]; argv[0] is the command's name. Options may stand among operands, until "--" or,
 * with stop_at_operand, until the first operand. Operands are moved to the front of argv + 1 and
 * their number is returned; negative on error.
 */
int opts_parse(const struct opt *table, void *into, int argc, char **argv, bool stop_at_operand,
	       struct err *e);
void opts_release(const struct opt *table, void *into);	     /* what parsing allocated */
void opts_help(const struct opt *table, struct strbuf *out); /* two columns, one line an option */

/* "10M" -> bytes, "1.5s" -> ns. Return 0 or -1. */
int parse_size(const char *s, uint64_t *bytes);
int parse_time(const char *s, uint64_t *ns);

#endif
