// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The script for bash: three functions made from the tables, and a walk over the words before the
 * cursor that asks them. It needs bash 4.4 alone; where bash-completion is there, that completes
 * the arguments of a program to be run.
 */
#include "cmd/completion.h"

static const char walk[] =
	"# Offers the words that begin like the one at the cursor.\n"
	"_futrace_offer() {\n"
	"	local word\n"
	"	for word; do\n"
	"		[[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$before$word\")\n"
	"	done\n"
	"	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
	"}\n"
	"\n"
	"# Files, as readline itself completes them; those named like traces alone where there are any.\n"
	"_futrace_files() {\n"
	"	if [[ $before ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -f -P \"$before\" -- \"$cur\")\n"
	"		return\n"
	"	fi\n"
	"	[[ $kind == trace ]] && mapfile -t COMPREPLY < <(compgen -f -X '!*.data*' -- \"$cur\")\n"
	"	if ((${#COMPREPLY[@]})); then\n"
	"		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"		compopt -o filenames\n"
	"	else\n"
	"		compopt -o default\n"
	"	fi\n"
	"}\n"
	"\n"
	"_futrace_kind() {\n"
	"	local pids\n"
	"	case $kind in\n"
	"	words) _futrace_offer \"${words[@]}\" ;;\n"
	"	pid) pids=(/proc/[0-9]*) && _futrace_offer \"${pids[@]#/proc/}\" ;;\n"
	"	binary)\n"
	"		[[ $cur == [0-9]* ]] && kind=pid && _futrace_kind\n"
	"		((${#COMPREPLY[@]})) || _futrace_files\n"
	"		;;\n"
	"	program)\n"
	"		mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"		[[ $cur == */* ]] && compopt -o filenames\n"
	"		((${#COMPREPLY[@]})) || _futrace_files\n"
	"		;;\n"
	"	dir) compopt -o dirnames ;;\n"
	"	file | trace) _futrace_files ;;\n"
	"	esac\n"
	"}\n"
	"\n"
	"# Goes over the words before the cursor. Leaves kind where the cursor stands in an option's\n"
	"# argument; i is where the operands begin if they have begun for good. bash cuts words at '='.\n"
	"_futrace_walk() {\n"
	"	for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"		case ${COMP_WORDS[i]} in\n"
	"		--) ((i++)) && return ;;\n"
	"		-?*)\n"
	"			_futrace_argument \"$command\" \"${COMP_WORDS[i]}\" || continue\n"
	"			if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then\n"
	"				((i + 1 == COMP_CWORD)) && cur=\n"
	"				((i++))\n"
	"			elif [[ $is_optional && ${COMP_WORDS[i + 1]} == -* ]]; then\n"
	"				kind=\n"
	"				continue\n"
	"			fi\n"
	"			((++i >= COMP_CWORD)) && return\n"
	"			;;\n"
	"		*) [[ $stops ]] && return ;;\n"
	"		esac\n"
	"		kind=\n"
	"	done\n"
	"	i=\n"
	"}\n"
	"\n"
	"_futrace_run() {\n"
	"	local command=${COMP_WORDS[1]} kind= words=() is_optional= stops= i=\n"
	"	_futrace_operands \"$command\" || return\n"
	"	kind=\n"
	"	_futrace_walk\n"
	"	if [[ $kind ]]; then\n"
	"		_futrace_kind\n"
	"	elif [[ ! $i && $cur == --*=* ]]; then\n"
	"		_futrace_argument \"$command\" \"${cur%%=*}\" || return\n"
	"		before=${cur%%=*}= cur=${cur#*=}\n"
	"		_futrace_kind\n"
	"	elif [[ ! $i && $cur == -* ]]; then\n"
	"		_futrace_options \"$command\"\n"
	"		_futrace_offer \"${words[@]}\" -h --help\n"
	"	else\n"
	"		_futrace_operands \"$command\"\n"
	"		if [[ $kind == program && $i && $i -lt $COMP_CWORD ]]; then\n"
	"			kind=file\n"
	"			declare -F _command_offset >/dev/null && _command_offset \"$i\" && return\n"
	"		fi\n"
	"		_futrace_kind\n"
	"	fi\n"
	"}\n"
	"\n"
	"_futrace() {\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} before=\n"
	"	COMPREPLY=()\n"
	"	if ((COMP_CWORD > 1)); then\n"
	"		_futrace_run\n"
	"	elif [[ $cur == -* ]]; then\n"
	"		_futrace_offer -h --help -V --version\n"
	"	else\n"
	"		_futrace_offer \"${_futrace_commands[@]}\"\n"
	"	fi\n"
	"}\n"
	"complete -F _futrace futrace\n";

static const char *kind_of(const struct opt *o)
{
	static const char *const names[] = {
		[COMPLETES_NOTHING] = "none", [COMPLETES_CHOICE] = "words",
		[COMPLETES_FILE] = "file",    [COMPLETES_DIR] = "dir",
		[COMPLETES_PID] = "pid",
	};

	return names[completes(o)];
}

static void add_commands(struct strbuf *out)
{
	strbuf_addstr(out, "_futrace_commands=(");
	for (size_t i = 0; commands[i]; i++)
		strbuf_addf(out, "%s%s", i ? " " : "", commands[i]->name);
	strbuf_addstr(out, ")\n\n");
}

/* words: the options of a command. */
static void add_options(struct strbuf *out)
{
	strbuf_addstr(out, "_futrace_options() { # COMMAND\n\tcase $1 in\n");
	for (size_t i = 0; commands[i]; i++) {
		strbuf_addf(out, "\t%s) words=(", commands[i]->name);
		for (const struct opt *o = command_options(commands[i]); o->name; o++) {
			if (o->letter)
				strbuf_addf(out, "-%c ", o->letter);
			strbuf_addf(out, "--%s%s ", o->name,
				    o->arg && o->kind != OPT_MAYBE ? "=" : "");
		}
		strbuf_addstr(out, ") ;;\n");
	}
	strbuf_addstr(out, "\tesac\n}\n\n");
}

/* kind and words: what the argument of an option is. It fails for an option without any. */
static void add_arguments(struct strbuf *out)
{
	strbuf_addstr(out, "_futrace_argument() { # COMMAND OPTION\n"
			   "\tis_optional=\n\tcase $1$2 in\n");
	for (size_t i = 0; commands[i]; i++) {
		const char *name = commands[i]->name;

		for (const struct opt *o = command_options(commands[i]); o->name; o++) {
			if (!o->arg)
				continue;
			strbuf_addf(out, "\t%s--%s", name, o->name);
			if (o->letter)
				strbuf_addf(out, " | %s-%c", name, o->letter);
			strbuf_addf(out, ") kind=%s", kind_of(o));
			if (o->kind == OPT_MAYBE)
				strbuf_addstr(out, " is_optional=1");
			if (o->choices) {
				strbuf_addstr(out, " words=(");
				add_words(out, o->choices, add_quoted);
				strbuf_addch(out, ')');
			}
			strbuf_addstr(out, " ;;\n");
		}
	}
	strbuf_addstr(out, "\t*) return 1 ;;\n\tesac\n}\n\n");
}

/* The same for the operands of a command; stops: options end at the first. */
static void add_operands(struct strbuf *out)
{
	static const char *const kinds[] = {
		[OPERANDS_TRACE] = "trace",
		[OPERANDS_NONE] = "none",
		[OPERANDS_ANY] = "file",
		[OPERANDS_BINARY] = "binary",
		[OPERANDS_PROCESS] = "pid",
		[OPERANDS_PROGRAM] = "program",
		[OPERANDS_COMMAND] = "words words=(\"${_futrace_commands[@]}\")",
		[OPERANDS_CHOICE] = "words",
	};

	strbuf_addstr(out, "_futrace_operands() { # COMMAND\n\tcase $1 in\n");
	for (size_t i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		strbuf_addf(out, "\t%s) kind=%s", c->name, kinds[c->operands]);
		if (c->stop_at_operand)
			strbuf_addstr(out, " stops=1");
		if (c->choices) {
			strbuf_addstr(out, " words=(");
			add_words(out, c->choices, add_quoted);
			strbuf_addch(out, ')');
		}
		strbuf_addstr(out, " ;;\n");
	}
	strbuf_addstr(out, "\t*) return 1 ;;\n\tesac\n}\n\n");
}

void completion_bash(struct strbuf *out)
{
	strbuf_addstr(out, "# bash completion for futrace: made by `futrace completion bash`\n\n");
	add_commands(out);
	add_options(out);
	add_arguments(out);
	add_operands(out);
	strbuf_addstr(out, walk);
}
