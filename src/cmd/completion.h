// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A shell's completion script is made from the array of commands and their tables of options: a new
 * command, option or choice completes without a change here. One file a shell.
 */
#ifndef CMD_COMPLETION_H
#define CMD_COMPLETION_H

#include "cmd/commands.h"

/* What the argument of an option is. */
enum completes {
	COMPLETES_NOTHING,
	COMPLETES_CHOICE,
	COMPLETES_FILE,
	COMPLETES_DIR,
	COMPLETES_PID
};

enum completes completes(const struct opt *o);
const struct opt *command_options(const struct command *c); /* never NULL */

/* Adds text in single quotes, as sh, bash and zsh read them. */
void add_quoted(struct strbuf *out, const char *text);
/* Adds each word of the list behind a space, quoted by `quote`. */
void add_words(struct strbuf *out, const char *const *words,
	       void (*quote)(struct strbuf *, const char *));

void completion_bash(struct strbuf *out);
void completion_zsh(struct strbuf *out);
void completion_fish(struct strbuf *out);

#endif
