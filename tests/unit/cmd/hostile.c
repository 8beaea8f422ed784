// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Prints the completion script for a shell from tables whose texts hold whatever means something to
 * one. completion.py asks the shells what they made of it.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/completion.h"

#define NASTY "it's [a] 'test': $HOME `id` $(id) \\n \"x\" (y) {a,b} * ; | & < > ! ~ # % @ ^"

static const char *const words[] = { "plain", "with-dash", "x.y", "a+b", NULL };

static const struct opt options[] = {
	{ 'a', "all", OPT_FLAG, 0, NULL, NASTY },
	{ 'k', "kind", OPT_STR, 0, "WORD", "one of", words },
	{ 0, "maybe", OPT_MAYBE, 0, "[NAME]:'s", NASTY },
	{ 'l', "list", OPT_LIST, 0, "FILE", "again and again" },
	{ 'd', "dir", OPT_STR, 0, "DIR", "a folder" },
	{ 0 },
};

static const struct command nasty = {
	.name = "nasty",
	.summary = NASTY,
	.options = options,
	.operands = OPERANDS_NONE,
};
static const struct command word = {
	.name = "word",
	.summary = "takes a word",
	.operands = OPERANDS_CHOICE,
	.choices = words,
};

const struct command *const commands[] = { &nasty, &word, NULL };

int cmd_usage(const char *fmt, ...)
{
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "text") == 0)
		return puts(NASTY) < 0;
	return cmd_completion.run(NULL, argc - 1, argv + 1);
}
