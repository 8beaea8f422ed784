// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace completion: prints what makes a shell complete futrace's commands, options and operands.
 */
#include "cmd/completion.h"

#include <stdio.h>
#include <string.h>

static const char *const shells[] = { "bash", "zsh", "fish", NULL };
static void (*const scripts[])(struct strbuf *) = {
	completion_bash,
	completion_zsh,
	completion_fish,
};

enum completes completes(const struct opt *o)
{
	static const struct {
		const char *arg;
		enum completes what;
	} known[] = {
		{ "FILE", COMPLETES_FILE },
		{ "DIR", COMPLETES_DIR },
		{ "PID", COMPLETES_PID },
	};

	if (o->choices)
		return COMPLETES_CHOICE;
	for (size_t i = 0; o->arg && i < ARRAY_SIZE(known); i++)
		if (strcmp(o->arg, known[i].arg) == 0)
			return known[i].what;
	return COMPLETES_NOTHING;
}

const struct opt *command_options(const struct command *c)
{
	static const struct opt none[] = { { 0 } };

	return c->options ? c->options : none;
}

void add_quoted(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_addstr(out, "'\\''");
		else
			strbuf_addch(out, *text);
	}
	strbuf_addch(out, '\'');
}

void add_words(struct strbuf *out, const char *const *words,
	       void (*quote)(struct strbuf *, const char *))
{
	for (; *words; words++) {
		strbuf_addch(out, ' ');
		quote(out, *words);
	}
}

static int run(const void *opts, int nr, char **argv)
{
	struct strbuf out = STRBUF_INIT;

	if (nr != 1)
		return cmd_usage("name one shell: bash, zsh or fish");
	for (size_t i = 0; shells[i]; i++) {
		if (strcmp(shells[i], argv[0]) != 0)
			continue;
		scripts[i](&out);
		fwrite(out.s, 1, out.len, stdout);
		strbuf_release(&out);
		return EXIT_OK;
	}
	return cmd_usage("no completion for '%s', only for bash, zsh and fish", argv[0]);
}

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print a script for shell completion",
	.synopsis = "bash | zsh | fish",
	.operands = OPERANDS_CHOICE,
	.choices = shells,
	.run = run,
};
