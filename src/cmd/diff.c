// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace diff`: two recordings side by side, by type of task. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/compare.h"
#include "base/format.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/terminal.h"
#include "cmd/view.h"
#include "show/diff_findings.h"
#include "show/diff_table.h"

struct diff_opts {
	struct view_opts view;
	const char *color, *fail_on;
	uint64_t min_percent;
	bool all, json, csv, no_pager;
};

static const struct diff_opts defaults = { .min_percent = 5 };

static const char *const failures[] = { "slower", "worse", "changed", NULL };

static const struct opt options[] = {
	OPT('a', "all", OPT_FLAG, struct diff_opts, all, NULL,
	    "show types that did not change, "
	    "too"),
	OPT(0, "min-change", OPT_UINT, struct diff_opts, min_percent, "PERCENT",
	    "ignore smaller changes (default 5)"),
	OPT_CHOICE(0, "fail-on", struct diff_opts, fail_on, "WHAT",
		   "exit status 3 if a type is slower, if anything is worse, or changed", failures),
	OPT(0, "json", OPT_FLAG, struct diff_opts, json, NULL, "all types as JSON (schema 1)"),
	OPT(0, "csv", OPT_FLAG, struct diff_opts, csv, NULL, "all types as CSV"),
	VIEW_OPTIONS(struct diff_opts, view),
	COLOR_OPTION(struct diff_opts, color),
	OPT(0, "no-pager", OPT_FLAG, struct diff_opts, no_pager, NULL,
	    "write to the terminal itself"),
	{ 0 },
};

struct side {
	const char *path;
	struct recording rec;
	struct view view;
	struct measure *measure;
	struct analyzer *analyzer;
	struct model *model;
};

static int side_open(struct side *s, const char *path, const struct view_opts *o, struct err *e)
{
	VEC(struct recording_sink) all = { 0 };
	const struct recording_sink *sinks;
	uint64_t to_ns;
	size_t nr;

	s->path = path;
	if (recording_open(&s->rec, path, e))
		return -1;
	if (view_init(&s->view, o, &s->rec, e))
		return -1;
	to_ns = s->view.recording.to_ns ? s->view.recording.to_ns
					: trace_get_duration(s->rec.trace);
	s->measure = measure_new(&s->rec, s->view.recording.from_ns, to_ns);
	s->analyzer = analyzer_new(&s->rec, s->view.config);
	sinks = measure_get_sinks(s->measure, &nr);
	for (size_t i = 0; i < nr; i++)
		vec_push(&all, sinks[i]);
	sinks = analyzer_get_sinks(s->analyzer, &nr);
	for (size_t i = 0; i < nr; i++)
		vec_push(&all, sinks[i]);
	s->model = recording_read(&s->rec, &s->view.recording, all.v, all.nr);
	vec_release(&all);
	analyzer_finish(s->analyzer, s->model);
	return 0;
}

static void side_close(struct side *s)
{
	model_free(s->model);
	analyzer_free(s->analyzer);
	measure_free(s->measure);
	view_release(&s->view);
	recording_close(&s->rec);
}

static void say_side(const struct side *s, char letter, struct strbuf *out)
{
	uint64_t lost[EV_MAX], nr_lost = recording_get_lost(&s->rec, s->model, lost);
	char span[FORMAT_SIZE], nr[FORMAT_SIZE];

	strbuf_addf(out, "%c  ", letter);
	strbuf_add_clean(out, s->path, strlen(s->path));
	strbuf_addf(out, ": %s of ", format_span(model_get_duration(s->model), span));
	strbuf_add_clean(out, s->rec.meta->exe, strlen(s->rec.meta->exe));
	strbuf_addf(out, ", %s events", format_grouped(model_get_totals(s->model)->nr_events, nr));
	if (nr_lost)
		strbuf_addf(out, ", %s LOST: differences may come from that",
			    format_grouped(nr_lost, nr));
	strbuf_addch(out, '\n');
}

static int write_text(const struct diff_opts *o, const struct side sides[2], struct diff_table *t,
		      struct err *e)
{
	struct pager pager;
	struct out out;
	int rc;

	pager_open(&pager, !o->no_pager);
	out_init(&out, pager.fd);
	say_side(&sides[0], 'A', &out.buf);
	say_side(&sides[1], 'B', &out.buf);
	diff_findings_text(&t->findings, &t->styles, &out.buf);
	diff_table_text(t, o->all, &out);
	rc = out_release(&out, e);
	pager_close(&pager);
	return rc;
}

static int write_data(const struct diff_opts *o, const struct side sides[2], struct diff_table *t,
		      struct err *e)
{
	uint64_t lost[EV_MAX];
	struct json j;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	if (o->csv) {
		diff_table_csv(t, &out);
		return out_release(&out, e);
	}
	json_init(&j, &out.buf);
	j.pretty = true;
	json_open_object(&j, NULL);
	json_uint(&j, "schema", 1);
	for (int i = 0; i < 2; i++) {
		json_open_object(&j, i ? "b" : "a");
		json_str(&j, "file", sides[i].path);
		json_str(&j, "exe", sides[i].rec.meta->exe);
		json_uint(&j, "duration_ns", model_get_duration(sides[i].model));
		json_uint(&j, "events", model_get_totals(sides[i].model)->nr_events);
		json_uint(&j, "lost", recording_get_lost(&sides[i].rec, sides[i].model, lost));
		json_close_object(&j);
	}
	diff_findings_json(&t->findings, &j);
	diff_table_json(t, &j);
	json_close_object(&j);
	strbuf_addch(&out.buf, '\n');
	return out_release(&out, e);
}

static bool is_failure(const char *fail_on, const struct diff_table *t)
{
	bool on_slower, on_worse;

	if (!fail_on)
		return false;
	on_slower = strcmp(fail_on, "slower") == 0;
	on_worse = strcmp(fail_on, "worse") == 0;
	for (size_t i = 0; i < t->result.nr_rows; i++) {
		enum compare_verdict v = t->result.rows[i].verdict;

		if (on_slower  ? v == COMPARE_SLOWER
		    : on_worse ? compare_is_worse(v)
			       : v != COMPARE_SAME && v != COMPARE_UNSURE)
			return true;
	}
	return !on_slower && (t->findings.appeared.nr || (!on_worse && t->findings.vanished.nr));
}

static int run_diff(const void *opts, int nr, char **argv)
{
	const struct diff_opts *o = opts;
	struct side sides[2] = { 0 };
	struct diff_table table = { 0 };
	struct err e = ERR_INIT;
	int rc = EXIT_OK;

	if (nr != 2)
		return cmd_usage("say which two recordings: futrace diff BEFORE AFTER");
	if (terminal_get_styles(&table.styles, o->color, &e) ||
	    side_open(&sides[0], argv[0], &o->view, &e) ||
	    side_open(&sides[1], argv[1], &o->view, &e)) {
		rc = cmd_fail(&e);
	} else {
		compare(&table.result, sides[0].measure, sides[1].measure, o->min_percent);
		for (int i = 0; i < 2; i++) {
			table.recs[i] = &sides[i].rec;
			table.durations_ns[i] = model_get_duration(sides[i].model);
		}
		diff_findings_init(&table.findings, table.recs,
				   (struct analyzer *[]){ sides[0].analyzer, sides[1].analyzer });
		if ((o->json || o->csv ? write_data : write_text)(o, sides, &table, &e))
			rc = cmd_fail(&e);
		else if (is_failure(o->fail_on, &table))
			rc = EXIT_FINDINGS;
	}
	diff_findings_release(&table.findings);
	comparison_release(&table.result);
	side_close(&sides[0]);
	side_close(&sides[1]);
	return rc;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two recordings by type of task",
	.synopsis = "[options] BEFORE AFTER",
	.options = options,
	.options_size = sizeof(struct diff_opts),
	.defaults = &defaults,
	.run = run_diff,
};
