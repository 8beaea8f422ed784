// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The script for zsh: a call of _arguments for each command. Works as the file _futrace on $fpath,
 * and by `source <(futrace completion zsh)`.
 */
#include "cmd/completion.h"

#include <string.h>

static const char helpers[] =
	"_futrace_program() {\n"
	"	_alternative 'commands:command:_command_names -e' 'files:program:_files -g \"*(-*)\"'\n"
	"}\n"
	"\n"
	"_futrace_binary() {\n"
	"	_alternative 'files:program or library:_files' 'processes:process:_pids'\n"
	"}\n"
	"\n";

static const char tail[] =
	"\n"
	"_futrace() {\n"
	"	local curcontext=$curcontext state line ret=1\n"
	"	typeset -A opt_args\n"
	"	_arguments -C '(- *)'{-h,--help}'[tell the commands]' '(- *)'{-V,--version}'[tell the version]' \\\n"
	"		'1:command:_futrace_commands' '*::argument:->arguments' && ret=0\n"
	"	if [[ $state == arguments ]]; then\n"
	"		curcontext=${curcontext%:*:*}:futrace-$words[1]:\n"
	"		_futrace_arguments $words[1] && ret=0\n"
	"	fi\n"
	"	return ret\n"
	"}\n"
	"\n"
	"if [[ $funcstack[1] == _futrace ]]; then\n"
	"	_futrace \"$@\"\n"
	"else\n"
	"	compdef _futrace futrace\n"
	"fi\n";

static void add_backslashed(struct strbuf *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (strchr(special, *text))
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
}

/* Text in a spec of _arguments. */
static void add_escaped(struct strbuf *spec, const char *text)
{
	add_backslashed(spec, text, "\\[]:");
}

/* ":NAME:what to do", for an argument or an operand. */
static void add_action(struct strbuf *spec, const char *name, const char *action,
		       const char *const *choices)
{
	strbuf_addch(spec, ':');
	add_escaped(spec, name);
	strbuf_addch(spec, ':');
	if (!choices) {
		strbuf_addstr(spec, action);
		return;
	}
	strbuf_addch(spec, '(');
	add_words(spec, choices, add_escaped);
	strbuf_addstr(spec, " )");
}

static void add_spec(struct strbuf *out, const struct strbuf *spec)
{
	strbuf_addstr(out, " \\\n\t\t\t");
	add_quoted(out, spec->s);
}

/* One of an option's two names. The other is not offered after it, unless it may come again. */
static void add_option(struct strbuf *out, const struct opt *o, bool is_letter)
{
	static const char *const actions[] = {
		[COMPLETES_NOTHING] = " ",     [COMPLETES_FILE] = "_files",
		[COMPLETES_DIR] = "_files -/", [COMPLETES_PID] = "_pids",
		[COMPLETES_CHOICE] = "",
	};
	struct strbuf spec = STRBUF_INIT;
	bool is_maybe = o->kind == OPT_MAYBE;

	if (o->kind == OPT_LIST)
		strbuf_addch(&spec, '*');
	else if (o->letter)
		strbuf_addf(&spec, "(-%c --%s)", o->letter, o->name);
	if (is_letter)
		strbuf_addf(&spec, "-%c%s", o->letter, o->arg && !is_maybe ? "+" : "");
	else
		strbuf_addf(&spec, "--%s%s", o->name, o->arg ? "=" : "");
	if (is_maybe) /* the next word is not offered as its argument: it may be something else */
		strbuf_addch(&spec, '-');
	strbuf_addch(&spec, '[');
	add_escaped(&spec, o->help);
	strbuf_addch(&spec, ']');
	if (is_maybe)
		strbuf_addch(&spec, ':');
	if (o->arg)
		add_action(&spec, o->arg, actions[completes(o)], o->choices);
	add_spec(out, &spec);
	strbuf_release(&spec);
}

static void add_operands(struct strbuf *out, const struct command *c)
{
	static const struct {
		const char *which, *name, *action;
	} kinds[] = {
		[OPERANDS_TRACE] = { "*", "trace", "_files -g \"*.data*\"" },
		[OPERANDS_ANY] = { "*", "argument", "_files" },
		[OPERANDS_BINARY] = { "1", "program or process", "_futrace_binary" },
		[OPERANDS_PROCESS] = { "1", "process", "_pids" },
		[OPERANDS_PROGRAM] = { "1", "program", "_futrace_program" },
		[OPERANDS_COMMAND] = { "1", "command", "_futrace_commands" },
		[OPERANDS_CHOICE] = { "1", "word", "" },
	};
	struct strbuf spec = STRBUF_INIT;

	if (c->operands == OPERANDS_NONE)
		return;
	if (c->stop_at_operand)
		strbuf_addstr(&spec, "(-)");
	strbuf_addstr(&spec, kinds[c->operands].which);
	add_action(&spec, kinds[c->operands].name, kinds[c->operands].action, c->choices);
	add_spec(out, &spec);
	if (c->operands == OPERANDS_PROGRAM)
		strbuf_addstr(out, " \\\n\t\t\t'*::argument:_normal'");
	strbuf_release(&spec);
}

static void add_commands(struct strbuf *out)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(out, "_futrace_commands() {\n\tlocal -a commands=(\n");
	for (size_t i = 0; commands[i]; i++) {
		strbuf_reset(&line);
		strbuf_addf(&line, "%s:", commands[i]->name);
		add_backslashed(&line, commands[i]->summary, "\\");
		strbuf_addstr(out, "\t\t");
		add_quoted(out, line.s);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, "\t)\n\t_describe -t commands command commands\n}\n\n");
	strbuf_release(&line);
}

void completion_zsh(struct strbuf *out)
{
	strbuf_addstr(out, "#compdef futrace\n"
			   "# zsh completion for futrace: made by `futrace completion zsh`\n\n");
	add_commands(out);
	strbuf_addstr(out, helpers);
	strbuf_addstr(out, "_futrace_arguments() { # COMMAND\n\tcase $1 in\n");
	for (size_t i = 0; commands[i]; i++) {
		strbuf_addf(out,
			    "\t%s)\n\t\t_arguments -s -S : \\\n"
			    "\t\t\t'(- *)'{-h,--help}'[tell the options]'",
			    commands[i]->name);
		for (const struct opt *o = command_options(commands[i]); o->name; o++) {
			if (o->letter)
				add_option(out, o, true);
			add_option(out, o, false);
		}
		add_operands(out, commands[i]);
		strbuf_addstr(out, "\n\t\t;;\n");
	}
	strbuf_addstr(out, "\t*) _message 'no such command' ;;\n\tesac\n}\n");
	strbuf_addstr(out, tail);
}
