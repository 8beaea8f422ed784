// SPDX-License-Identifier: MIT OR Apache-2.0
/* The script for fish: a call of `complete` for each command, option and kind of operand. */
#include "cmd/completion.h"

static const char head[] =
	"# fish completion for futrace: made by `futrace completion fish`\n"
	"\n"
	"function __futrace_first\n"
	"    test (count (commandline -opc)) -eq 1\n"
	"end\n"
	"\n"
	"function __futrace_in # COMMAND\n"
	"    set -l words (commandline -opc)\n"
	"    test \"$words[2]\" = $argv[1]\n"
	"end\n"
	"\n"
	"# The words after the options of a command, where its options end at the first that is none. Named are\n"
	"# the options that take an argument.\n"
	"function __futrace_rest # OPTIONS\n"
	"    set -l words (commandline -opc)[3..-1]\n"
	"    while set -q words[1]\n"
	"        set -l word $words[1]\n"
	"        string match -q -- '-*' $word; or break\n"
	"        set -e words[1]\n"
	"        test $word = --; and break\n"
	"        contains -- $word $argv; and set -q words[1]; and set -e words[1]\n"
	"    end\n"
	"    set -q words[1]; and printf '%s\\n' $words\n"
	"end\n"
	"\n"
	"# Has the program to be run been named?\n"
	"function __futrace_is_over # COMMAND OPTIONS\n"
	"    __futrace_in $argv[1]; and count (__futrace_rest $argv[2..-1]) >/dev/null\n"
	"end\n"
	"\n"
	"function __futrace_program # OPTIONS\n"
	"    set -l words (__futrace_rest $argv)\n"
	"    set -l token (commandline -ct)\n"
	"    set -q words[1]; or not string match -q -- '-*' $token; or return\n"
	"    complete --do-complete=(string join ' ' -- (string escape -- $words) \"$token\")\n"
	"end\n"
	"\n"
	"complete -c futrace -f\n"
	"complete -c futrace -n __futrace_first -s h -l help -d 'tell the commands'\n"
	"complete -c futrace -n __futrace_first -s V -l version -d 'tell the version'\n";

static void add_fish_quoted(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
	strbuf_addch(out, '\'');
}

/* A list for `complete -a`, which reads it as fish would: each word quoted, and then all of them.
 */
static void add_list(struct strbuf *out, const char *const *words)
{
	struct strbuf list = STRBUF_INIT;

	add_words(&list, words, add_fish_quoted);
	strbuf_addstr(out, " -a ");
	add_fish_quoted(out, list.s);
	strbuf_release(&list);
}

/* The options that have an argument as a word of its own. */
static void add_takers(struct strbuf *out, const struct command *c)
{
	for (const struct opt *o = command_options(c); o->name; o++) {
		if (!o->arg || o->kind == OPT_MAYBE)
			continue;
		if (o->letter)
			strbuf_addf(out, " -%c", o->letter);
		strbuf_addf(out, " --%s", o->name);
	}
}

/* "complete" where options and operands of this command may stand. */
static void add_start(struct strbuf *out, const struct command *c)
{
	strbuf_addf(out, "complete -c futrace -n '__futrace_in %s", c->name);
	if (c->stop_at_operand) {
		strbuf_addf(out, "; and not __futrace_is_over %s", c->name);
		add_takers(out, c);
	}
	strbuf_addch(out, '\'');
}

static void add_option(struct strbuf *out, const struct command *c, const struct opt *o)
{
	static const char *const actions[] = {
		[COMPLETES_NOTHING] = " -x",
		[COMPLETES_CHOICE] = " -x",
		[COMPLETES_FILE] = " -r -F",
		[COMPLETES_DIR] = " -x -a '(__fish_complete_directories (commandline -ct))'",
		[COMPLETES_PID] = " -x -a '(__fish_complete_pids)'",
	};

	add_start(out, c);
	if (o->letter)
		strbuf_addf(out, " -s %c", o->letter);
	strbuf_addf(out, " -l %s", o->name);
	if (o->arg && o->kind != OPT_MAYBE)
		strbuf_addstr(out, actions[completes(o)]);
	if (o->choices)
		add_list(out, o->choices);
	strbuf_addstr(out, " -d ");
	add_fish_quoted(out, o->help);
	strbuf_addch(out, '\n');
}

static void add_command(struct strbuf *out, const char *condition, const struct command *c)
{
	strbuf_addf(out, "complete -c futrace -n '%s' -a %s -d ", condition, c->name);
	add_fish_quoted(out, c->summary);
	strbuf_addch(out, '\n');
}

static void add_operands(struct strbuf *out, const struct command *c)
{
	switch (c->operands) {
	case OPERANDS_NONE:
		return;
	case OPERANDS_COMMAND:
		for (size_t i = 0; commands[i]; i++) {
			char *condition = xasprintf("__futrace_in %s", c->name);

			add_command(out, condition, commands[i]);
			free(condition);
		}
		return;
	case OPERANDS_PROGRAM:
		strbuf_addf(out, "complete -c futrace -n '__futrace_in %s' -a '(__futrace_program",
			    c->name);
		add_takers(out, c);
		strbuf_addstr(out, ")'");
		break;
	case OPERANDS_TRACE:
		add_start(out, c);
		strbuf_addstr(out, " -k -a '(__fish_complete_suffix .data)'");
		break;
	case OPERANDS_BINARY:
		add_start(out, c);
		strbuf_addstr(out, " -F -a '(__fish_complete_pids)'");
		break;
	case OPERANDS_PROCESS:
		add_start(out, c);
		strbuf_addstr(out, " -a '(__fish_complete_pids)'");
		break;
	case OPERANDS_ANY:
		strbuf_addf(out, "complete -c futrace -n '__futrace_in %s' -F", c->name);
		break;
	case OPERANDS_CHOICE:
		add_start(out, c);
		add_list(out, c->choices);
		break;
	}
	strbuf_addch(out, '\n');
}

void completion_fish(struct strbuf *out)
{
	strbuf_addstr(out, head);
	for (size_t i = 0; commands[i]; i++)
		add_command(out, "__futrace_first", commands[i]);
	for (size_t i = 0; commands[i]; i++) {
		strbuf_addch(out, '\n');
		add_start(out, commands[i]);
		strbuf_addstr(out, " -s h -l help -d 'tell the options'\n");
		for (const struct opt *o = command_options(commands[i]); o->name; o++)
			add_option(out, commands[i], o);
		add_operands(out, commands[i]);
	}
}
