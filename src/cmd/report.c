// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace report`: what a recording holds, as a table by future type or as JSON. */
#include "cmd/report.h"

#include "cmd/command.h"

struct report_opts {
	bool json, verbose;
};

static const struct opt options[] = {
	OPT(0, "json", OPT_FLAG, struct report_opts, json, NULL, "every task as JSON (schema 1)"),
	OPT('v', "verbose", OPT_FLAG, struct report_opts, verbose, NULL,
	    "whole names of types, and where each is defined"),
	{ 0 },
};

static int run_report(const void *opts, int nr, char **argv)
{
	const struct report_opts *o = opts;
	struct report r = { 0 };
	struct err e = ERR_INIT;

	if (nr > 1)
		return cmd_usage("one trace file at a time: what about '%s'?", argv[1]);
	if (recording_open(&r.rec, nr ? argv[0] : CMD_DEFAULT_FILE, &e))
		return cmd_fail(&e);
	r.verbose = o->verbose;
	if (o->json)
		report_json(&r);
	else
		report_table(&r);
	model_free(r.model);
	recording_close(&r.rec);
	return EXIT_OK;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "tell what a recording holds, by task type, or as JSON",
	.synopsis = "[-v | --json] [FILE]",
	.options = options,
	.options_size = sizeof(struct report_opts),
	.run = run_report,
};
