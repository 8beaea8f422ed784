// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace report`: what a recording holds, as a table by future type or as JSON. */
#include "cmd/report.h"

#include <stdio.h>

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

void report_read(struct report *r)
{
	const struct event *evs;
	size_t nr;

	while ((nr = trace_read(r->trace, &evs)) > 0)
		model_feed(r->model, evs, nr);
	model_finish(r->model, trace_get_duration(r->trace), trace_get_end(r->trace)->lost);
}

uint64_t report_lost(const struct report *r, uint64_t lost[EV_MAX])
{
	const uint64_t *told = model_get_totals(r->model)->lost;
	const uint64_t *in_all = trace_get_end(r->trace)->lost;
	uint64_t sum = 0;

	/* The end counts what the LOST events told before, too; a file that was cut has no end. */
	for (unsigned i = 0; i < EV_MAX; i++)
		sum += lost[i] = MAX(told[i], in_all[i]);
	return sum;
}

const char *report_type_name(const struct report *r, uint16_t type, char buf[32])
{
	if (type < r->nr_types && r->types[type].name[0])
		return r->types[type].name;
	if (type < r->nr_types)
		snprintf(buf, 32, "type#%u", type);
	else
		snprintf(buf, 32, "type#unknown");
	return buf;
}

static int run_report(const void *opts, int nr, char **argv)
{
	const struct report_opts *o = opts;
	struct report r = { 0 };
	struct err e = ERR_INIT;

	if (nr > 1)
		return cmd_usage("one trace file at a time: what about '%s'?", argv[1]);
	r.trace = trace_open(nr ? argv[0] : CMD_DEFAULT_FILE, &e);
	if (!r.trace)
		return cmd_fail(&e);
	r.meta = trace_get_meta(r.trace);
	r.runtimes = trace_get_runtimes(r.trace, &r.nr_runtimes);
	r.objects = trace_get_objects(r.trace, &r.nr_objects);
	r.types = trace_get_types(r.trace, &r.nr_types);
	r.threads = trace_get_threads(r.trace, &r.nr_threads);
	r.model = model_new(r.types, r.nr_types);
	r.verbose = o->verbose;
	if (o->json)
		report_json(&r);
	else
		report_table(&r);
	model_free(r.model);
	trace_close(r.trace);
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
