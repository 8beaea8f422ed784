// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace report`: what a recording tells. The verdict comes first: one paragraph of totals, the
 * findings worst first, and then a table; or all of it and every task as JSON.
 */
#include "cmd/report.h"

#include <stdio.h>
#include <unistd.h>

#include "base/out.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/pager.h"

struct report_opts {
	struct view_opts view;
	const char *color, *by, *sort;
	uint64_t limit;
	bool csv, json, verbose, thresholds, all_findings, no_pager;
};

static const struct report_opts defaults = { .limit = REPORT_TABLE_USUAL };

static const struct opt options[] = {
	OPT(0, "by", OPT_STR, struct report_opts, by, "WHAT",
	    "a table by type (usual), task, worker, thread or wake"),
	OPT(0, "sort", OPT_STR, struct report_opts, sort, "KEY",
	    "by which column, greatest first; -KEY: least first"),
	OPT(0, "limit", OPT_UINT, struct report_opts, limit, "N", "rows at most, 0: all"),
	OPT(0, "csv", OPT_FLAG, struct report_opts, csv, NULL,
	    "only the table, as CSV with all columns"),
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

static void finish_table(struct report *r)
{
	const struct recording_sink *sinks;
	size_t nr;

	report_table_finish(r->table, r->analyzer, r->model);
	sinks = report_table_get_second(r->table, &nr);
	if (nr)
		model_free(recording_read(&r->rec, &r->view.recording, sinks, nr));
}

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
	mine = r->table ? report_table_get_sinks(r->table, &nr_mine) : NULL;
	for (size_t i = 0; mine && i < nr_mine; i++)
		vec_push(&all, mine[i]);
	r->model = recording_read(&r->rec, &r->view.recording, all.v, all.nr);
	analyzer_finish(r->analyzer, r->model);
	vec_release(&all);
	if (r->table)
		finish_table(r);
	progress_erase(&r->view.progress);
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
	report_table_text(r->table, &out);
	rc = out_release(&out, e);
	pager_close(&pager);
	return rc;
}

static int write_csv(struct report *r, struct err *e)
{
	struct out out;

	report_read(r, NULL, 0);
	out_init(&out, STDOUT_FILENO);
	report_table_csv(r->table, &out);
	return out_release(&out, e);
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

static int write_report(struct report *r, const struct report_opts *o)
{
	struct report_table_opts table = { .by = o->by,
					   .sort = o->sort,
					   .limit = o->limit,
					   .is_data = o->csv || o->json,
					   .is_verbose = o->verbose,
					   .is_ascii = !style_is_utf8(),
					   .width = r->width,
					   .styles = &r->styles };
	struct err e = ERR_INIT;
	int rc = 0;

	/* JSON has every task anyhow */
	if (!o->json || o->by) {
		r->table = report_table_new(&r->rec, &table, &e);
		if (!r->table)
			return cmd_usage("%s", e.msg);
	}
	if (o->json)
		report_json(r);
	else
		rc = o->csv ? write_csv(r, &e) : write_text(r, !o->no_pager, &e);
	report_table_free(r->table);
	return rc ? cmd_fail(&e) : EXIT_OK;
}

static int run_report(const void *opts, int nr, char **argv)
{
	const struct report_opts *o = opts;
	struct report r = { .verbose = o->verbose,
			    .all_findings = o->all_findings,
			    .width = style_width() };
	struct err e = ERR_INIT;
	int rc;

	if (o->thresholds)
		return list_thresholds(&o->view);
	if (nr > 1)
		return cmd_usage("one trace file at a time: what about '%s'?", argv[1]);
	if (o->csv && o->json)
		return cmd_usage("--csv or --json, not both");
	if (styles_init(&r.styles, o->color, &e) ||
	    recording_open(&r.rec, nr ? argv[0] : CMD_DEFAULT_FILE, &e))
		return cmd_fail(&e);
	if (view_init(&r.view, &o->view, &r.rec, &e)) {
		recording_close(&r.rec);
		return cmd_fail(&e);
	}
	r.analyzer = analyzer_new(&r.rec, r.view.config);
	rc = write_report(&r, o);
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
	.defaults = &defaults,
	.run = run_report,
};
