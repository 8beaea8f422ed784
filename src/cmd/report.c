// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace report`: what a recording tells. The verdict comes first: one paragraph of totals, the
 * findings worst first, and then a table; or all of it and every task as JSON.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/terminal.h"
#include "cmd/view.h"
#include "show/report.h"
#include "show/report_story.h"

struct report_opts {
	struct view_opts view;
	struct future_filter futures;
	const char *by, *sort, *task, *fail_on, *color;
	uint64_t limit;
	bool csv, json, verbose, thresholds, all_findings, no_pager;
};

static const struct report_opts defaults = { .limit = REPORT_TABLE_USUAL };
static_assert(REPORT_TABLE_USUAL == STORY_USUAL, "one option for both");

static const struct opt options[] = {
	OPT_CHOICE(0, "by", struct report_opts, by, "WHAT", "which table; usually by type",
		   report_table_names),
	OPT(0, "sort", OPT_STR, struct report_opts, sort, "KEY",
	    "sort by this column, descending; -KEY: ascending"),
	OPT('n', "limit", OPT_UINT, struct report_opts, limit, "N",
	    "rows of the table or runs of the story, 0: all"),
	FUTURES_OPTIONS(struct report_opts, futures),
	OPT(0, "csv", OPT_FLAG, struct report_opts, csv, NULL,
	    "only the table, as CSV with all columns"),
	OPT('v', "verbose", OPT_FLAG, struct report_opts, verbose, NULL,
	    "whole names of types, all findings with their figures"),
	OPT(0, "all-findings", OPT_FLAG, struct report_opts, all_findings, NULL,
	    "not only the ten worst"),
	OPT(0, "fail-on", OPT_STR, struct report_opts, fail_on, "EXPR",
	    "exit with 3 if any holds of poll>10ms,critical,..."),
	OPT(0, "thresholds", OPT_FLAG, struct report_opts, thresholds, NULL,
	    "list all analyses and their thresholds"),
	OPT(0, "task", OPT_STR, struct report_opts, task, "ID",
	    "the story of one task; RUNTIME:ID, root:ID where ids repeat"),
	OPT(0, "json", OPT_FLAG, struct report_opts, json, NULL,
	    "findings, totals and every task as JSON (schema 1)"),
	VIEW_OPTIONS(struct report_opts, view),
	COLOR_OPTION(struct report_opts, color),
	OPT(0, "no-pager", OPT_FLAG, struct report_opts, no_pager, NULL,
	    "write to the terminal itself"),
	{ 0 },
};

/* A report, and what of the options it borrows. */
struct job {
	struct report report;
	struct view view;
};

static int make_table(struct report *r, const struct report_opts *o, struct err *e)
{
	r->table_opts = (struct report_table_opts){ .by = o->by,
						    .sort = o->sort,
						    .limit = o->limit,
						    .is_data = o->csv || o->json,
						    .is_verbose = o->verbose,
						    .futures = &o->futures,
						    .config = r->config,
						    .styles = &r->styles };
	/* JSON has every task anyhow, and a story has its own events */
	if (o->task || (o->json && !o->by))
		return 0;
	r->table = report_table_new(&r->rec, &r->table_opts, e);
	return r->table ? 0 : -1;
}

/* What it has to say goes out; a reader that went away has seen enough. */
static int write_report(struct job *job, const struct report_opts *o, struct err *e)
{
	struct report *r = &job->report;
	struct story_opts story = { .task = o->task, .limit = o->limit, .is_json = o->json };
	struct pager pager;
	struct out out;
	int rc = 0;

	if (!o->task && !o->json)
		report_read(r, NULL, 0);
	pager_open(&pager, !o->json && !o->csv && !o->no_pager);
	/* a story is told while it is read, and the screen is the pager's then */
	job->view.progress.is_wanted &= !pager.pid;
	out_init(&out, pager.fd);
	if (o->task)
		rc = report_story(r, &story, &out, e);
	else if (o->json)
		report_json(r, &out);
	else if (o->csv)
		report_table_csv(r->table, &out);
	else
		report_text(r, &out);
	out_flush(&out);
	if (out.error == EPIPE)
		out.error = 0;
	if (out_release(&out, rc ? NULL : e))
		rc = -1;
	pager_close(&pager);
	return rc;
}

/* On stderr: stdout is for the report. */
static int judge(const struct report *r)
{
	struct strbuf text = STRBUF_INIT;
	int rc = EXIT_OK;

	if (fail_on_judge(r->fail_on, &r->rec, r->model, r->analyzer, &text))
		rc = EXIT_FINDINGS;
	for (char *save = NULL, *line = strtok_r(text.s, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		cmd_note("failed on %s", line);
	strbuf_release(&text);
	return rc;
}

static int list_thresholds(const struct view_opts *o)
{
	struct err e = ERR_INIT;
	struct analyze_config *config = view_make_config(o, &e);
	struct strbuf text = STRBUF_INIT;
	struct styles styles;

	if (!config)
		return cmd_fail(&e);
	terminal_get_styles(&styles, NULL, NULL);
	report_thresholds(config, &styles, &text);
	fwrite(text.s, 1, text.len, stdout);
	strbuf_release(&text);
	analyze_config_free(config);
	return EXIT_OK;
}

/* What would be ignored is refused. */
static int check_options(const struct report_opts *o, struct err *e)
{
	if (o->fail_on && o->task)
		return err_set(e, ERR_USAGE, "--fail-on judges a report, --task is a story");
	if (o->csv && (o->json || o->task))
		return err_set(e, ERR_USAGE,
			       "--csv is a table, --json and --task are something else");
	if (o->task && (o->by || o->sort))
		return err_set(e, ERR_USAGE, "--by and --sort are for a table, --task is a story");
	if (future_filter_is_set(&o->futures) &&
	    (!o->by || (strcmp(o->by, "await") != 0 && strcmp(o->by, "future") != 0)))
		return err_set(e, ERR_USAGE,
			       "--generated-future, --show-future and --hide-future are for "
			       "--by=await and --by=future");
	if (o->json && !o->task && !o->by && (o->sort || o->limit != REPORT_TABLE_USUAL))
		return err_set(e, ERR_USAGE,
			       "--sort and --limit are for a table, which --json has with --by");
	return 0;
}

/* All that can be wrong with the options is told before anything is read. */
static int open_report(struct job *job, const struct report_opts *o, const char *path,
		       struct err *e)
{
	struct report *r = &job->report;

	*job = (struct job){ 0 };
	*r = (struct report){ .verbose = o->verbose, .all_findings = o->all_findings };
	if (check_options(o, e) || terminal_get_styles(&r->styles, o->color, e))
		return -1;
	if (o->fail_on && !(r->fail_on = fail_on_new(o->fail_on, e)))
		return -1;
	if (recording_open(&r->rec, path, e) || view_init(&job->view, &o->view, &r->rec, e))
		return -1;
	r->view = job->view.recording;
	r->filter_text = o->view.filter;
	r->config = job->view.config;
	r->analyzer = analyzer_new(&r->rec, r->config);
	return make_table(r, o, e);
}

static void close_report(struct job *job)
{
	struct report *r = &job->report;

	report_table_free(r->table);
	analyzer_free(r->analyzer);
	model_free(r->model);
	view_release(&job->view);
	recording_close(&r->rec);
	fail_on_free(r->fail_on);
}

static int report_file(const struct report_opts *o, const char *path)
{
	struct err e = ERR_INIT;
	struct job job;
	int rc;

	if (open_report(&job, o, path, &e) || write_report(&job, o, &e))
		rc = cmd_fail(&e);
	else
		rc = job.report.fail_on ? judge(&job.report) : EXIT_OK;
	close_report(&job);
	return rc;
}

void cmd_report_show(const char *path, bool is_quiet)
{
	struct report_opts o = defaults;

	o.view.quiet = is_quiet;
	report_file(&o, path);
}

static int run_report(const void *opts, int nr, char **argv)
{
	const struct report_opts *o = opts;

	if (o->thresholds && (o->json || o->csv || o->by || o->sort || o->task || o->fail_on))
		return cmd_usage("--thresholds is a list of its own: only --threshold and --allow "
				 "go with it");
	if (o->thresholds)
		return list_thresholds(&o->view);
	if (nr > 1)
		return cmd_usage("one trace file at a time, not also '%s'", argv[1]);
	return report_file(o, nr ? argv[0] : CMD_DEFAULT_FILE);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "show the findings and contents of a recording",
	.synopsis = "[options] [FILE]",
	.options = options,
	.options_size = sizeof(struct report_opts),
	.defaults = &defaults,
	.run = run_report,
};
