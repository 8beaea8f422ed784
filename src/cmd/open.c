// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace open`: shows a recording in the Perfetto UI. The UI is a page in the browser; it fetches
 * the trace from this machine's port 9001, the only one that its policy lets it read. The trace
 * goes to the browser and nowhere else.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/command.h"
#include "export/export.h"
#include "view/serve_file.h"

#define UI_ORIGIN "https://ui.perfetto.dev"
#define UI_PORT	  9001

struct open_opts {
	bool no_browser;
	uint64_t timeout_ns;
};

static const struct open_opts defaults = { .timeout_ns = UINT64_C(300) * 1000000000 };

static const struct opt options[] = {
	OPT(0, "no-browser", OPT_FLAG, struct open_opts, no_browser, NULL,
	    "only print the address to open"),
	OPT(0, "timeout", OPT_TIME, struct open_opts, timeout_ns, "TIME",
	    "give up if it was not read after TIME (default 5m; 0: never)"),
	{ 0 },
};

static void note(void *arg, const char *text)
{
	cmd_note("%s", text);
}

/* A recording is exported first; what is no recording is taken as it is. */
static int export_to(const char *from, int fd, struct err *e)
{
	const struct exporter *x = exporter_find("perfetto");
	struct recording rec;
	struct out out;
	struct export_job job = { .rec = &rec,
				  .out = &out,
				  .max_bytes = x->max_bytes,
				  .nr_tracks = x->nr_tracks,
				  .note = note };
	int rc;

	if (recording_open(&rec, from, e))
		return -1;
	out_init(&out, fd);
	rc = x->run(&job, e);
	if (out_release(&out, rc ? NULL : e))
		rc = -1;
	recording_close(&rec);
	return rc;
}

/*
 * Some wait until the browser is closed, so a process of its own waits for them. It holds nothing
 * of ours: the port must be free when we end.
 */
static void start_browser(const char *url)
{
	static const char help[] = "futrace open: no browser could be started: open the address "
				   "above in one, on this machine (or forward port 9001 to it)\n";
	pid_t browser;
	int status, null;

	if (fork() != 0)
		return;
	close_range(STDERR_FILENO + 1, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	browser = fork();
	if (browser == 0) {
		dup2(null, STDERR_FILENO);
		execlp("xdg-open", "xdg-open", url, NULL);
		_exit(127);
	}
	if (browser < 0 || waitpid(browser, &status, 0) != browser || !WIFEXITED(status) ||
	    WEXITSTATUS(status))
		io_write_all(STDERR_FILENO, help, strlen(help));
	_exit(0);
}

static int serve(int fd, const char *name, const struct open_opts *o, struct err *e)
{
	struct serve_file *s = serve_file_open(fd, name, UI_PORT, UI_ORIGIN, e);
	bool is_said, is_read;
	char *url;

	if (!s)
		return -1;
	url = xasprintf(UI_ORIGIN "/#!/?url=%s&referrer=futrace", serve_file_get_url(s));
	is_said = printf("%s\n", url) >= 0 && fflush(stdout) == 0;
	if (!is_said)
		err_sys(e, "cannot write the address");
	if (!o->no_browser)
		start_browser(url);
	/* who has not seen the address will not come, unless by the browser */
	is_read = (is_said || !o->no_browser) && serve_file_wait(s, o->timeout_ns);
	serve_file_close(s);
	free(url);
	if (!is_read && is_said)
		err_set(e, ERR_SYS, "the trace was not read in time");
	return is_read ? 0 : -1;
}

/* Into a file that has no name, so it goes when we do. */
static int export_and_serve(const char *from, const struct open_opts *o, struct err *e)
{
	const char *dir = getenv("TMPDIR");
	char *path = xasprintf("%s/futrace-XXXXXX", dir && dir[0] ? dir : "/tmp");
	int fd = mkostemp(path, O_CLOEXEC), rc;

	if (fd < 0) {
		rc = err_sys(e, "cannot create %s", path);
	} else {
		unlink(path);
		rc = export_to(from, fd, e);
		if (!rc)
			rc = serve(fd, "futrace.pftrace", o, e);
		close(fd);
	}
	free(path);
	return rc;
}

static int serve_as_it_is(const char *path, const struct open_opts *o, struct err *e)
{
	const char *slash = strrchr(path, '/');
	int fd = io_open(path), rc;

	if (fd < 0)
		return err_sys(e, "cannot read %s", path);
	rc = serve(fd, slash ? slash + 1 : path, o, e);
	close(fd);
	return rc;
}

/* What is no recording is served as it is, but not one that cannot be read. */
static int open_any(const char *path, const struct open_opts *o, struct err *e)
{
	struct err why = ERR_INIT;
	struct trace *t = trace_open(path, &why);

	trace_close(t);
	if (t)
		return export_and_serve(path, o, e);
	if (why.tag == ERR_NOT_TRACE)
		return serve_as_it_is(path, o, e);
	*e = why;
	return -1;
}

static int run_open(const void *opts, int nr, char **argv)
{
	const char *path = nr ? argv[0] : CMD_DEFAULT_FILE;
	struct err e = ERR_INIT;

	if (nr > 1)
		return cmd_usage("one file at a time, not also '%s'", argv[1]);
	return open_any(path, opts, &e) ? cmd_fail(&e) : EXIT_OK;
}

const struct command cmd_open = {
	.name = "open",
	.summary = "show a recording or an exported trace in the Perfetto UI",
	.synopsis = "[FILE]",
	.options = options,
	.options_size = sizeof(struct open_opts),
	.defaults = &defaults,
	.run = run_open,
};
