// SPDX-License-Identifier: MIT OR Apache-2.0
/* The subcommands, in the order in which help lists them: one line each. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/command.h"

/* clang-format off */
#define COMMANDS \
	COMMAND(record) \
	COMMAND(run) \
	COMMAND(report) \
	COMMAND(export) \
	COMMAND(open) \
	COMMAND(diff) \
	COMMAND(dump) \
	COMMAND(info) \
	COMMAND(ps) \
	COMMAND(tree) \
	COMMAND(list) \
	COMMAND(doctor) \
	COMMAND(cargo) \
	COMMAND(completion) \
	COMMAND(help)
/* clang-format on */

#define COMMAND(name) extern const struct command cmd_##name;
COMMANDS
#undef COMMAND

extern const struct command *const commands[]; /* all of them, to NULL (main.c) */

#endif
