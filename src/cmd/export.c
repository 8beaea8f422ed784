// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace export`: a recording in the format of another tool. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/replace.h"
#include "cmd/command.h"
#include "cmd/damage.h"
#include "cmd/view.h"
#include "export/exporters.h"

#define UNSET UINT64_MAX

struct export_opts {
	const char *format, *output, *weight;
	uint64_t max_size, tasks, task; /* UNSET: nothing was said */
	struct view_opts view;
	struct future_filter futures;
};

static const struct export_opts defaults = { .max_size = UNSET, .tasks = UNSET, .task = UNSET };

/* The name of an exporter is that of its line in the list. */
static const char *const formats[] = {
#define EXPORTER(name) #name,
	EXPORTERS
#undef EXPORTER
		NULL,
};

/* In the order of enum export_weight. */
static const char *const weights[] = { "busy", "scheduled", "idle", "waiting", NULL };

static const struct opt options[] = {
	OPT_CHOICE('f', "format", struct export_opts, format, "FMT", "the format", formats),
	OPT('o', "output", OPT_STR, struct export_opts, output, "FILE",
	    "write to FILE, - for stdout"),
	OPT(0, "max-size", OPT_SIZE, struct export_opts, max_size, "SIZE",
	    "omit the least informative parts beyond SIZE; 0: nothing"),
	OPT(0, "tasks", OPT_UINT, struct export_opts, tasks, "N",
	    "tasks with a track of their own (perfetto: 20)"),
	OPT(0, "task", OPT_UINT, struct export_opts, task, "ID", "a track for this task alone"),
	OPT_CHOICE(0, "weight", struct export_opts, weight, "TIME", "what stacks weigh", weights),
	FUTURES_OPTIONS(struct export_opts, futures),
	VIEW_OPTIONS(struct export_opts, view),
	{ 0 },
};

/* The table took only words of the list. */
static enum export_weight find_weight(const char *name)
{
	enum export_weight w = EXPORT_BUSY;

	while (name && weights[w + 1] && strcmp(weights[w], name) != 0)
		w++;
	return w;
}

static void note(void *arg, const char *text)
{
	progress_erase(arg);
	cmd_note("%s", text);
}

/* -o futrace.data: the recording would be gone before it is read. */
static bool is_input(const char *path, const char *input)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* A pipe, a device, a folder: nothing that can be read again while it is written. */
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* --max-size is a promise; what a format wants by itself is a wish. */
static int check_size(const struct exporter *x, const struct export_job *job, struct err *e)
{
	char size[FORMAT_SIZE], max[FORMAT_SIZE];

	if (!job->is_limit_hard || out_size(job->out) <= job->max_bytes)
		return 0;
	return err_set(
		e, ERR_TOO_LARGE,
		"%s cannot become smaller than %s here, and --max-size is %s: it has to hold "
		"more than polls; try --time-range or --filter",
		x->name, format_bytes(out_size(job->out), size), format_bytes(job->max_bytes, max));
}

static int write_stream(const struct exporter *x, struct export_job *job, struct out *out,
			struct err *e)
{
	int rc;

	job->out = out;
	rc = x->run(job, e);
	if (!rc)
		rc = check_size(x, job, e);
	if (out_release(out, rc ? NULL : e))
		rc = -1;
	return rc;
}

/* An older file of that name stays until the new one is whole. */
static int write_file(const struct exporter *x, struct export_job *job, struct err *e)
{
	struct replace file;
	struct out out;
	int rc;

	if (replace_open(&file, job->path, e))
		return -1;
	if (!file.temporary && x->is_database) {
		rc = err_set(e, ERR_USAGE, "%s can only be a file, not %s", x->name, job->path);
	} else if (!file.temporary && !x->is_text && isatty(file.fd)) {
		rc = err_set(e, ERR_USAGE, "%s is not for a terminal: use -o FILE", x->name);
	} else if (x->is_database) {
		job->path = file.temporary;
		rc = x->run(job, e);
	} else {
		out_init(&out, file.fd);
		rc = write_stream(x, job, &out, e);
	}
	if (replace_close(&file, !rc, e))
		rc = -1;
	return rc;
}

static int write_output(const struct exporter *x, struct export_job *job, struct err *e)
{
	struct out out;

	if (job->path)
		return write_file(x, job, e);
	out_init(&out, STDOUT_FILENO);
	return write_stream(x, job, &out, e);
}

static int export_recording(const struct exporter *x, const struct export_opts *o,
			    struct export_job *job, struct err *e)
{
	struct view view;
	bool *futures, *polled;
	int rc;

	if (view_init(&view, &o->view, job->rec, e))
		return -1;
	job->view = view.recording;
	job->config = view.config;
	job->max_bytes = o->max_size != UNSET ? o->max_size : x->max_bytes;
	job->is_limit_hard = o->max_size != UNSET && o->max_size;
	job->nr_tracks = o->tasks != UNSET ? MIN(o->tasks, (uint64_t)UINT32_MAX) : x->nr_tracks;
	job->has_task = o->task != UNSET;
	job->task = o->task;
	job->futures = futures = future_filter_of_awaits(&o->futures, job->rec);
	job->polled = polled = future_filter_of_polls(&o->futures, job->rec);
	job->note = note;
	job->note_arg = &view.progress;
	rc = write_output(x, job, e);
	view_release(&view);
	free(futures);
	free(polled);
	return rc;
}

/* What a format has no use for is refused; negative: so it was, and the user told. */
static int check_options(const struct exporter *x, const struct export_opts *o)
{
	if (x->is_whole && o->max_size != UNSET)
		return cmd_usage("--max-size is not for %s: try --time-range or --filter", x->name),
		       -1;
	if (!x->has_tracks && (o->tasks != UNSET || o->task != UNSET))
		return cmd_usage(
			       "--%s is for perfetto and chrome, which have tracks of tasks, not for %s",
			       o->tasks != UNSET ? "tasks" : "task", x->name),
		       -1;
	if (o->tasks != UNSET && o->task != UNSET)
		return cmd_usage("--tasks or --task: many tracks or one"), -1;
	if (!x->has_stacks && o->weight)
		return cmd_usage("--weight is for folded, pprof and speedscope, which have stacks, "
				 "not for %s",
				 x->name),
		       -1;
	return 0;
}

/* What will be written where; negative: it was wrong, and the user told. */
static int choose_path(const struct exporter *x, const struct export_opts *o, const char *input,
		       char **path)
{
	bool is_stdout = o->output ? strcmp(o->output, "-") == 0 : x->is_text;

	*path = NULL;
	if (is_stdout && x->is_database)
		return cmd_usage("%s cannot go to stdout", x->name), -1;
	if (is_stdout && !x->is_text && isatty(STDOUT_FILENO))
		return cmd_usage("%s is not for a terminal: use -o FILE", x->name), -1;
	if (is_stdout)
		return 0;
	*path = o->output ? xstrdup(o->output) : xasprintf("futrace.%s", x->suffix);
	if (is_input(*path, input))
		cmd_usage("%s is the recording itself", *path);
	else if (x->is_database && is_special(*path))
		cmd_usage("%s can only be a file, not %s", x->name, *path);
	else
		return 0;
	free(*path);
	return -1;
}

static int run_export(const void *opts, int nr, char **argv)
{
	const struct export_opts *o = opts;
	const char *input = nr ? argv[0] : CMD_DEFAULT_FILE;
	const struct exporter *x;
	struct recording rec;
	struct export_job job = { .rec = &rec };
	struct err e = ERR_INIT;
	char *path;
	int rc;

	if (nr > 1)
		return cmd_usage("one trace file at a time, not also '%s'", argv[1]);
	if (!o->format)
		return cmd_usage("say --format=FMT: which format?");
	x = exporter_find(o->format);
	if (check_options(x, o) || choose_path(x, o, input, &path))
		return EXIT_USAGE;
	job.weight = find_weight(o->weight);
	job.path = path;
	if (recording_open(&rec, input, &e)) {
		free(path);
		return cmd_fail(&e);
	}
	rc = export_recording(x, o, &job, &e) ? cmd_fail(&e) : EXIT_OK;
	damage_note(rec.trace, input);
	recording_close(&rec);
	free(path);
	return rc;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write a recording in the format of another tool",
	.synopsis = "--format=FMT [-o FILE] [options] [FILE]",
	.options = options,
	.options_size = sizeof(struct export_opts),
	.defaults = &defaults,
	.run = run_export,
};
