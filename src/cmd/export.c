// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace export`: a recording in the format of another tool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "export/export.h"

struct export_opts {
	const char *format, *output;
};

static const struct opt options[] = {
	OPT('f', "format", OPT_STR, struct export_opts, format, "FMT", "the format"),
	OPT('o', "output", OPT_STR, struct export_opts, output, "FILE",
	    "write to FILE, - for stdout"),
	{ 0 },
};

static const struct exporter *choose(const char *name)
{
	struct strbuf names = STRBUF_INIT;
	const struct exporter *x = name ? exporter_find(name) : NULL;

	if (x)
		return x;
	for (const struct exporter *const *each = exporters; *each; each++)
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", (*each)->name);
	if (name)
		cmd_usage("no format '%s'; there are %s", name, names.s);
	else
		cmd_usage("say --format=FMT; there are %s", names.s);
	strbuf_release(&names);
	return NULL;
}

static void note(void *arg, const char *text)
{
	cmd_note("%s", text);
}

/* Into a file of its own, which is not there if anything goes wrong. */
static int write_output(const struct exporter *x, struct export_job *job, struct err *e)
{
	struct out out;
	int fd = STDOUT_FILENO, rc;

	if (x->is_database)
		return x->run(job, e);
	if (job->path) {
		fd = open(job->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_sys(e, "cannot create %s", job->path);
	}
	out_init(&out, fd);
	job->out = &out;
	rc = x->run(job, e);
	if (out_release(&out, rc ? NULL : e))
		rc = -1;
	if (job->path && close(fd) && !rc)
		rc = err_sys(e, "cannot write %s", job->path);
	if (rc && job->path)
		unlink(job->path);
	return rc;
}

static int run_export(const void *opts, int nr, char **argv)
{
	const struct export_opts *o = opts;
	const struct exporter *x;
	struct recording rec;
	struct export_job job = { .rec = &rec, .note = note, .nr_tracks = 20 };
	struct err e = ERR_INIT;
	char *path = NULL;
	int rc;

	if (nr > 1)
		return cmd_usage("one trace file at a time: what about '%s'?", argv[1]);
	x = choose(o->format);
	if (!x)
		return EXIT_USAGE;
	if (o->output ? strcmp(o->output, "-") != 0 : !x->is_text)
		path = o->output ? xstrdup(o->output) : xasprintf("futrace.%s", x->suffix);
	job.path = path;
	if (recording_open(&rec, nr ? argv[0] : CMD_DEFAULT_FILE, &e)) {
		free(path);
		return cmd_fail(&e);
	}
	rc = write_output(x, &job, &e) ? cmd_fail(&e) : EXIT_OK;
	recording_close(&rec);
	free(path);
	return rc;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write a recording in the format of another tool",
	.synopsis = "--format=FMT [-o FILE] [FILE]",
	.options = options,
	.options_size = sizeof(struct export_opts),
	.run = run_export,
};
