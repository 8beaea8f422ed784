// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace record: runs a command and records every task of it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/launch.h"

struct record_opts {
	const char *output;
	/* as they were given, for 0 is no limit but a mistake */
	const char *ring_size, *max_memory, *max_size, *duration;
	const char *futures;
	bool generated_future;
	bool follow, quiet, no_cache, no_spawn_places, no_roots, no_await, report;
};

static const struct opt options[] = {
	OPT('o', "output", OPT_STR, struct record_opts, output, "FILE",
	    "write to FILE (futrace.data); an existing one becomes FILE.old"),
	OPT(0, "follow", OPT_FLAG, struct record_opts, follow, NULL,
	    "record child processes too, each to FILE.PID"),
	OPT(0, "duration", OPT_STR, struct record_opts, duration, "TIME",
	    "stop recording after TIME; the command continues"),
	OPT(0, "max-size", OPT_STR, struct record_opts, max_size, "SIZE",
	    "stop recording when SIZE is written; the command continues"),
	OPT(0, "ring-size", OPT_STR, struct record_opts, ring_size, "SIZE",
	    "memory for unread events, per thread (64M)"),
	OPT(0, "max-memory", OPT_STR, struct record_opts, max_memory, "SIZE",
	    "memory for unread events of all threads and processes (by the machine's memory)"),
	OPT(0, "no-cache", OPT_FLAG, struct record_opts, no_cache, NULL,
	    "do not use or fill the cache of known programs"),
	OPT(0, "no-spawn-places", OPT_FLAG, struct record_opts, no_spawn_places, NULL,
	    "do not record where tasks are spawned"),
	OPT(0, "no-roots", OPT_FLAG, struct record_opts, no_roots, NULL,
	    "do not record the futures of block_on, which needs changes of code in memory"),
	OPT(0, "no-await", OPT_FLAG, struct record_opts, no_await, NULL,
	    "do not record where tasks wait"),
	OPT(0, "futures", OPT_MAYBE, struct record_opts, futures, "PATTERN",
	    "record each poll of inner futures that have a function, too: the program's own, or those "
	    "of these names"),
	OPT(0, "generated-future", OPT_FLAG, struct record_opts, generated_future, NULL,
	    "only async fns and blocks"),
	OPT(0, "report", OPT_FLAG, struct record_opts, report, NULL,
	    "show the report when the recording is over"),
	OPT('q', "quiet", OPT_FLAG, struct record_opts, quiet, NULL, "say nothing but errors"),
	{ 0 },
};

/* ---- what is said meanwhile ---- */

struct talk {
	bool quiet;
	bool has_line; /* a progress line stands on the terminal */
	bool follow;
	bool report;
	bool futures;
	VEC(char *) reports; /* files to show when all is over */
};

static void clear_line(struct talk *t)
{
	if (t->has_line)
		fputs("\r\033[K", stderr);
	t->has_line = false;
}

static void on_note(void *arg, const struct err *note)
{
	struct talk *t = arg;

	clear_line(t);
	if (!t->quiet || note->tag == ERR_SYS || note->tag == ERR_PERMISSION)
		cmd_note("%s", note->msg);
}

/* Does the command write to our terminal? It starts with our streams, but may have turned away from
 * them. */
static bool shares_terminal(uint32_t pid)
{
	struct stat ours, theirs;
	char path[64];

	if (fstat(STDERR_FILENO, &ours))
		return true;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
		if (stat(path, &theirs) == 0 && S_ISCHR(theirs.st_mode) &&
		    theirs.st_rdev == ours.st_rdev)
			return true;
	}
	return false;
}

/* Rounds as it is printed, so that nothing is 1000.0 of a unit. */
static const char *size_text(uint64_t bytes, char text[static 16])
{
	if (bytes < 1000)
		snprintf(text, 16, "%u B", (unsigned)bytes);
	else if (bytes < 999950)
		snprintf(text, 16, "%.1f kB", bytes / 1e3);
	else if (bytes < 999950000)
		snprintf(text, 16, "%.1f MB", bytes / 1e6);
	else
		snprintf(text, 16, "%.1f GB", bytes / 1e9);
	return text;
}

static void on_progress(void *arg, const struct session_progress *p)
{
	struct talk *t = arg;
	char size[16];

	if (t->quiet || !isatty(STDERR_FILENO) || shares_terminal(p->pid))
		return;
	fprintf(stderr, "\r\033[Krecording %u process%s, %.0f s: %llu events, %llu lost, %s",
		p->nr_processes, p->nr_processes == 1 ? "" : "es", p->elapsed_ns / 1e9,
		(unsigned long long)p->nr_events, (unsigned long long)p->nr_lost,
		size_text(p->bytes, size));
	t->has_line = true;
}

/* How the program or the recording of it ended, where that is worth a word. */
static void add_end(struct strbuf *out, const struct session_file *f)
{
	const char *name;

	if (f->end == TRACE_STOPPED)
		strbuf_addstr(out, "; recording stopped before the program");
	if (f->end != TRACE_SIGNALED)
		return;
	name = sigabbrev_np(f->status);
	if (name)
		strbuf_addf(out, "; killed by SIG%s", name);
	else
		strbuf_addf(out, "; killed by signal %u", f->status);
}

/* One line: what there is and where. After a write error the numbers of events say what was read,
 * not what can be found in the file, so they are not told. */
static void tell_summary(const struct session_file *f, bool is_shown)
{
	bool is_default = strcmp(f->path, CMD_DEFAULT_FILE) == 0;
	struct strbuf line = STRBUF_INIT;
	char size[16];

	size_text(f->sum.bytes, size);
	if (f->is_whole) {
		strbuf_addf(&line, "%llu events, %llu lost, %s",
			    (unsigned long long)f->sum.nr_events,
			    (unsigned long long)f->sum.nr_lost, size);
		add_end(&line, f);
	} else {
		strbuf_addf(&line, "the recording is incomplete, only %s could be written", size);
	}
	if (f->is_regular && f->sum.bytes && !is_shown)
		strbuf_addf(&line, "; now: futrace report%s%s", is_default ? "" : " ",
			    is_default ? "" : f->path);
	cmd_note("%s: %s", f->path, line.s);
	strbuf_release(&line);
}

/* That nothing was seen of a future must not be taken for a sign that nobody polled it. */
static void tell_futures(const struct session_file *f)
{
	const struct process_sum *s = &f->sum;
	struct strbuf line = STRBUF_INIT;
	bool is_none = !s->nr_futures && !s->nr_futures_refused && !s->nr_futures_beyond &&
		       !s->nr_futures_inlined;

	strbuf_addf(&line, "polls of %llu inner futures were recorded",
		    (unsigned long long)s->nr_futures);
	if (s->nr_futures_refused)
		strbuf_addf(&line,
			    "; %llu more cannot be, as their code could not be changed safely",
			    (unsigned long long)s->nr_futures_refused);
	if (s->nr_futures_beyond)
		strbuf_addf(&line, "; %llu more are too many: give a pattern",
			    (unsigned long long)s->nr_futures_beyond);
	if (s->nr_futures_inlined)
		strbuf_addf(&line, "; %llu have no function: the compiler inlined them",
			    (unsigned long long)s->nr_futures_inlined);
	if (is_none)
		strbuf_addstr(&line, "; no future matches --futures");
	if (*s->futures_note)
		strbuf_addf(&line, "; %s", s->futures_note);
	cmd_note("%s: %s", f->path, line.s);
	strbuf_release(&line);
}

static void on_file(void *arg, const struct session_file *f)
{
	struct talk *t = arg;

	clear_line(t);
	if (f->sum.nr_broken)
		cmd_note("%s: %llu parts of a ring could not be decoded and were skipped", f->path,
			 (unsigned long long)f->sum.nr_broken);
	if (f->sum.nr_unslotted)
		cmd_note("%s: %llu threads found no room and were not recorded; their events are "
			 "counted as lost",
			 f->path, (unsigned long long)f->sum.nr_unslotted);
	if (f->sum.nr_unfollowed && f->sum.nr_task_events && !t->quiet)
		cmd_note("%s: %llu forked child%s not followed (--follow: up to 64 processes at a "
			 "time)",
			 f->path, (unsigned long long)f->sum.nr_unfollowed,
			 f->sum.nr_unfollowed == 1 ? " was" : "ren were");
	if (f->sum.nr_apart && f->sum.nr_task_events && !t->quiet)
		cmd_note(
			"%s: %llu librar%s an async runtime not recorded: loaded by dlmopen, into a "
			"link namespace of %s own",
			f->path, (unsigned long long)f->sum.nr_apart,
			f->sum.nr_apart == 1 ? "y with" : "ies with",
			f->sum.nr_apart == 1 ? "its" : "their");
	if (f->sum.has_given_up)
		cmd_note("%s: futrace got no CPU for so long that recording stopped; later "
			 "events are missing",
			 f->path);
	if (t->report && f->is_regular && f->sum.nr_task_events)
		vec_push(&t->reports, xstrdup(f->path));
	if (t->quiet)
		return;
	if (f->sum.roots_note && f->sum.nr_task_events)
		cmd_note("%s: futures of block_on are not recorded (%s): %s", f->path,
			 f->sum.roots_runtime, f->sum.roots_note);
	if (t->futures && f->sum.nr_task_events)
		tell_futures(f);
	if (f->sum.nr_task_events)
		tell_summary(f, t->report);
	else if (t->follow)
		cmd_note("%s: the command itself ran no task", f->path);
}

static const struct session_ops ops = {
	.note = on_note,
	.progress = on_progress,
	.file = on_file,
};

/* Whatever becomes of it, the exit status is the command's own. */
static void show_reports(struct talk *t)
{
	vec_each (path, &t->reports) {
		cmd_report_show(*path, t->quiet);
		free(*path);
	}
	vec_release(&t->reports);
}

/* ---- the command ---- */

static int take_limit(const char *name, const char *arg, int (*parse)(const char *, uint64_t *),
		      const char *such_as, uint64_t *value)
{
	if (!arg || (parse(arg, value) == 0 && *value))
		return 0;
	cmd_usage("--%s takes %s, not '%s'", name, such_as, arg);
	return -1;
}

/* -1: it was said what is wrong. */
static int take_limits(const struct record_opts *o, struct session_opts *so)
{
	static const char size[] = "a size such as 64K, 10M or 2G",
			  time[] = "a time such as 10s, 500ms or 2m";
	uint64_t wish = 0;

	if (take_limit("duration", o->duration, parse_time, time, &so->duration_ns) ||
	    take_limit("max-size", o->max_size, parse_size, size, &so->max_bytes) ||
	    take_limit("max-memory", o->max_memory, parse_size, size, &so->max_memory) ||
	    take_limit("ring-size", o->ring_size, parse_size, size, &wish))
		return -1;
	if (o->max_memory && so->max_memory < LOBBY_MEMORY_MIN) {
		cmd_usage("--max-memory takes 256K or more, not '%s'", o->max_memory);
		return -1;
	}
	so->ring_bytes = wish ? lobby_ring_bytes(wish) : 0;
	if (so->ring_bytes != wish && !o->quiet)
		cmd_note("--ring-size %s: taken as %lluK, a power of two from 4K to 1G",
			 o->ring_size, (unsigned long long)so->ring_bytes >> 10);
	return 0;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct record_opts *o = opts;
	struct talk talk = { .quiet = o->quiet,
			     .follow = o->follow,
			     .report = o->report,
			     .futures = o->futures || o->generated_future };
	struct futures_wanted futures = { .patterns = o->futures && *o->futures ? o->futures : NULL,
					  .only_generated = o->generated_future };
	struct session_opts so = {
		.argv = argv,
		.output = o->output ? o->output : CMD_DEFAULT_FILE,
		.follow = o->follow,
		.no_spawn_places = o->no_spawn_places,
		.no_roots = o->no_roots,
		.no_await = o->no_await,
		.futures = talk.futures ? &futures : NULL,
		.ops = &ops,
		.arg = &talk,
	};
	struct err e = ERR_INIT;
	int status;

	if (!nr)
		return cmd_usage("no command to record; give it after '--'");
	if (strcmp(so.output, "-") == 0)
		return cmd_usage("-o -: standard output is the command's own; give a file, or a "
				 "pipe by its name");
	if (futures.patterns && futures_check(futures.patterns, &e))
		return cmd_usage("--futures: %s", e.msg);
	if (take_limits(o, &so))
		return EXIT_USAGE;
	status = launch(&so, o->no_cache);
	clear_line(&talk);
	show_reports(&talk);
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "run a command and record every task of it",
	.synopsis = "[options] -- CMD [ARGS...]",
	.options = options,
	.options_size = sizeof(struct record_opts),
	.stop_at_operand = true,
	.operands = OPERANDS_PROGRAM,
	.run = run,
};
