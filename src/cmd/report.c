// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace report`: what a recording tells. The verdict comes first: one paragraph of totals, the
 * findings worst first, and then a table; or all of it and every task as JSON.
 */
#include "cmd/report.h"

#include <stdio.h>

#include "base/out.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/pager.h"

struct report_opts {
	struct view_opts view;
	const char *color;
	bool json, verbose, thresholds, all_findings, no_pager;
};

static const struct opt options[] = {
	OPT('v', "verbose", OPT_FLAG, struct report_opts, verbose, NULL,
	    "whole names of types, all findings with their figures"),
	OPT(0, "all-findings", OPT_FLAG, struct report_opts, all_findings, NULL,
	    "not only the ten worst"),
	OPT(0, "thresholds", OPT_FLAG, struct report_opts, thresholds, NULL,
	    "list all analyses and their thresholds"),
	OPT(0, "json", OPT_FLAG, struct report_opts, json, NULL,
	    "findings, totals and every task as JSON (schema 1)"),
	VIEW_OPTIONS(struct report_opts, view),
	STYLE_OPTION(struct report_opts, color),
	OPT(0, "no-pager", OPT_FLAG, struct report_opts, no_pager, NULL,
	    "write to the terminal itself"),
	{ 0 },
};

void report_read(struct report *r, const struct recording_sink *sinks, size_t nr)
{
	const struct recording_sink *mine;
	VEC(struct recording_sink) all = { 0 };
	size_t nr_mine;

	mine = analyzer_get_sinks(r->analyzer, &nr_mine);
	for (size_t i = 0; i < nr_mine; i++)
		vec_push(&all, mine[i]);
	for (size_t i = 0; i < nr; i++)
		vec_push(&all, sinks[i]);
	r->model = recording_read(&r->rec, &r->view.recording, all.v, all.nr);
	progress_erase(&r->view.progress);
	analyzer_finish(r->analyzer, r->model);
	vec_release(&all);
}

static int write_text(struct report *r, bool is_paged, struct err *e)
{
	struct report_totals totals;
	struct pager pager;
	struct out out;
	int rc;

	report_read(r, NULL, 0);
	pager_open(&pager, is_paged);
	out_init(&out, pager.fd);
	report_totals_init(&totals, r);
	report_totals_text(r, &totals, &out.buf);
	report_totals_release(&totals);
	report_findings_text(r, &out.buf);
	report_rows(r, &out.buf);
	rc = out_release(&out, e);
	pager_close(&pager);
	return rc;
}

static int list_thresholds(const struct view_opts *o)
{
	struct err e = ERR_INIT;
	struct analyze_config *config = view_make_config(o, &e);
	struct strbuf text = STRBUF_INIT;

	if (!config)
		return cmd_fail(&e);
	report_thresholds(config, &text);
	fwrite(text.s, 1, text.len, stdout);
	strbuf_release(&text);
	analyze_config_free(config);
	return EXIT_OK;
}

static int run_report(const void *opts, int nr, char **argv)
{
	const struct report_opts *o = opts;
	struct report r = { .verbose = o->verbose,
			    .all_findings = o->all_findings,
			    .width = style_width() };
	struct err e = ERR_INIT;
	int rc = EXIT_OK;

	if (o->thresholds)
		return list_thresholds(&o->view);
	if (nr > 1)
		return cmd_usage("one trace file at a time: what about '%s'?", argv[1]);
	if (styles_init(&r.styles, o->color, &e) ||
	    recording_open(&r.rec, nr ? argv[0] : CMD_DEFAULT_FILE, &e))
		return cmd_fail(&e);
	if (view_init(&r.view, &o->view, &r.rec, &e)) {
		recording_close(&r.rec);
		return cmd_fail(&e);
	}
	r.analyzer = analyzer_new(&r.rec, r.view.config);
	if (o->json)
		report_json(&r);
	else if (write_text(&r, !o->no_pager, &e))
		rc = cmd_fail(&e);
	analyzer_free(r.analyzer);
	model_free(r.model);
	view_release(&r.view);
	recording_close(&r.rec);
	return rc;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "tell what is wrong in a recording and what it holds",
	.synopsis = "[options] [FILE]",
	.options = options,
	.options_size = sizeof(struct report_opts),
	.run = run_report,
};
