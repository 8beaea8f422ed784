// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * futrace info: what a trace file is: of what, when, where, how much, what was lost, how it ended.
 */
#include <stdio.h>

#include "cmd/command.h"
#include "show/info.h"

struct info_opts {
	bool json;
};

static const struct opt info_options[] = {
	OPT(0, "json", OPT_FLAG, struct info_opts, json, NULL, "print a JSON object"),
	{ 0 },
};

static int run(const void *options, int nr, char **argv)
{
	const struct info_opts *opts = options;
	const char *path = nr ? argv[0] : CMD_DEFAULT_FILE;
	struct err e = ERR_INIT;
	struct strbuf out = STRBUF_INIT;
	struct trace *t;
	struct info in;

	if (nr > 1)
		return cmd_usage("one FILE at a time, not also '%s'", argv[1]);
	t = trace_open(path, &e);
	if (!t)
		return cmd_fail(&e);
	info_init(&in, t, path);
	if (opts->json)
		info_json(&in, &out);
	else
		info_text(&in, &out);
	fwrite(out.s, 1, out.len, stdout);
	strbuf_release(&out);
	info_release(&in);
	trace_close(t);
	return EXIT_OK;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "describe a trace file: program, time, machine, size, losses",
	.synopsis = "[options] [FILE]",
	.options = info_options,
	.options_size = sizeof(struct info_opts),
	.run = run,
};
