// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace run: runs a command with the probes in it, and records nothing. */
#include "cmd/command.h"
#include "cmd/launch.h"

struct run_opts {
	bool follow, no_cache, no_roots, quiet;
};

static const struct opt options[] = {
	OPT(0, "follow", OPT_FLAG, struct run_opts, follow, NULL,
	    "child processes have the probes, too"),
	OPT(0, "no-cache", OPT_FLAG, struct run_opts, no_cache, NULL,
	    "do not use or fill the cache of known programs"),
	OPT(0, "no-roots", OPT_FLAG, struct run_opts, no_roots, NULL,
	    "leave the program's code in memory unchanged"),
	OPT('q', "quiet", OPT_FLAG, struct run_opts, quiet, NULL, "say nothing but errors"),
	{ 0 },
};

static void on_note(void *arg, const struct err *note)
{
	const struct run_opts *o = arg;

	if (!o->quiet || note->tag == ERR_SYS || note->tag == ERR_PERMISSION)
		cmd_note("%s", note->msg);
}

static const struct session_ops ops = { .note = on_note };

static int run(const void *opts, int nr, char **argv)
{
	const struct run_opts *o = opts;
	struct session_opts so = {
		.argv = argv,
		.output = "/dev/null",
		.ring_bytes = LOBBY_RING_MIN,
		.only_probes = true,
		.follow = o->follow,
		.no_spawn_places = true,
		.no_roots = o->no_roots,
		.no_await = true,
		.ops = &ops,
		.arg = (void *)o,
	};

	if (!nr)
		return cmd_usage("no command to run");
	return launch(&so, o->no_cache);
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run a command with probes, and record nothing",
	.synopsis = "[options] [--] CMD [ARGS...]",
	.options = options,
	.options_size = sizeof(struct run_opts),
	.stop_at_operand = true,
	.operands = OPERANDS_PROGRAM,
	.run = run,
};
