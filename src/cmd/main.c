// SPDX-License-Identifier: MIT OR Apache-2.0
/* Finds the subcommand, parses its options by its table, runs it, and checks that stdout arrived.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/commands.h"

static const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
	COMMANDS
#undef COMMAND
};

static const char *current_name = "futrace";

static void vnote(const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT;
	char buf[2048];

	vsnprintf(buf, sizeof(buf), fmt, ap);
	strbuf_add_clean(&text, buf, strlen(buf));
	fprintf(stderr, "%s: %s\n", current_name, text.s);
	strbuf_release(&text);
}

void cmd_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
}

int cmd_fail(const struct err *e)
{
	cmd_note("%s", e->msg);
	return e->tag == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

int cmd_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try '%s -h'.\n", current_name);
	return EXIT_USAGE;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static void print_overview(FILE *to)
{
	fprintf(to, "usage: futrace COMMAND [options]\n\n"
		    "Shows what every task and every future of an async Rust program is doing:\n"
		    "no rebuild, no restart, no root.\n\nCommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to,
		"\nFirst minute:\n"
		"  futrace record -- ./my-service     run it and record every task\n"
		"  futrace report                     what happened\n\n"
		"'futrace COMMAND -h' tells a command's options, 'man futrace-COMMAND' the rest.\n");
}

static void print_usage(const struct command *c)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "usage: futrace %s %s\n\n%s\n", c->name, c->synopsis, c->summary);
	if (c->options) {
		strbuf_addstr(&text, "\nOptions:\n");
		opts_help(c->options, &text);
	}
	fwrite(text.s, 1, text.len, stdout);
	strbuf_release(&text);
}

/* `futrace help [COMMAND]` */
static int run_help(const void *options, int nr, char **argv)
{
	const struct command *c = nr ? find(argv[0]) : NULL;

	if (nr && !c)
		return cmd_usage("no command '%s'; 'futrace help' lists them", argv[0]);
	if (c)
		print_usage(c);
	else
		print_overview(stdout);
	return EXIT_OK;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "list the commands, or tell one command's options",
	.synopsis = "[COMMAND]",
	.run = run_help,
};

static bool wants_help(const struct command *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
			return true;
		if (strcmp(argv[i], "--") == 0 || (c->stop_at_operand && argv[i][0] != '-'))
			return false;
	}
	return false;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	static const struct opt no_options[] = { { 0 } };
	char *name = xasprintf("futrace %s", c->name);
	void *options = xcalloc(1, c->options_size);
	struct err e = ERR_INIT;
	int nr, rc;

	current_name = name;
	if (c->defaults)
		memcpy(options, c->defaults, c->options_size);
	if (wants_help(c, argc, argv)) {
		print_usage(c);
		rc = EXIT_OK;
	} else {
		nr = opts_parse(c->options ? c->options : no_options, options, argc, argv,
				c->stop_at_operand, &e);
		rc = nr < 0 ? cmd_usage("%s", e.msg) : c->run(options, nr, argv + 1);
	}
	/* Data that did not reach its reader must not look like success. A closed pipe is its
	 * reader's wish. */
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE && rc == EXIT_OK) {
		cmd_note("cannot write the output: %s", strerror(errno));
		rc = EXIT_FAILED;
	}
	current_name = "futrace";
	free(options);
	free(name);
	return rc;
}

int main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("futrace " FUTRACE_VERSION);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_overview(stdout);
		return EXIT_OK;
	}
	c = find(argv[1]);
	if (!c)
		return cmd_usage("no command '%s'; 'futrace help' lists them", argv[1]);
	return run_command(c, argc - 1, argv + 1);
}
