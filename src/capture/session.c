// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/session_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "capture/cgroup.h"
#include "capture/pace.h"
#include "capture/signals.h"

#define MS_NS	  UINT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)
#define WAIT_IDLE_NS \
	(200 * MS_NS) /* when there are no rings to be read: the bell rings for all else */
#define FLUSH_NS     (300 * MS_NS)
#define DOORS_NS     (100 * MS_NS) /* doors and deaths, when no bell rang */
#define ANSWER_MS    10000
#define AGAIN_NS     (250 * MS_NS) /* sent closer together they are one: timeout(1) sends two */
#define FILES_NEEDED 8		   /* seen: 5 at a time */

void session_note(const struct session *s, enum err_tag tag, const char *fmt, ...)
{
	struct err note = { .tag = tag };
	va_list ap;

	if (!s->o->ops->note)
		return;
	va_start(ap, fmt);
	vsnprintf(note.msg, sizeof(note.msg), fmt, ap);
	va_end(ap);
	s->o->ops->note(s->o->arg, &note);
}

void session_tell_error(const struct session *s, struct process *p)
{
	if (p->error.tag != ERR_NONE && !p->error_told)
		session_note(s, p->error.tag,
			     "%s; the recording ends here, the command is not affected",
			     p->error.msg);
	p->error_told = true;
}

/* ---- CMD and signals ---- */

static void look_for_end(struct session *s)
{
	struct rusage u;
	int status;

	if (s->is_dead || wait4(s->pid, &status, WNOHANG, &u) != s->pid)
		return;
	s->is_dead = true;
	s->wait_status = status;
	s->target_cpu_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * SECOND_NS +
			   (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static bool is_wish_to_end(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void handle_signals(struct session *s)
{
	struct signal_seen seen;

	while (signals_take(&seen)) {
		uint64_t now = clock_mono_ns();

		if (!seen.from_terminal && seen.sender != s->pid)
			kill(s->pid, seen.number);
		if (!is_wish_to_end(seen.number))
			continue;
		if (!s->first_signal_ns)
			s->first_signal_ns = now;
		else if (seen.from_terminal || now - s->first_signal_ns > AGAIN_NS) {
			s->is_hurried = s->left_by != 0;
			s->left_by = seen.number;
		}
	}
}

/* ---- the loop ---- */

struct rounds {
	uint32_t bell;
	uint64_t wait_ns, next_doors, next_flush, next_second;
};

static uint64_t total_bytes(const struct session *s)
{
	uint64_t bytes = s->done_bytes;

	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++)
		if (s->by_door[i] && s->by_door[i]->writer)
			bytes += trace_writer_bytes(s->by_door[i]->writer);
	return bytes;
}

/* A ring may hold more than --max-size leaves room for, so each process knows how much it may
 * write. */
static void give_budget(const struct session *s, struct process *p)
{
	uint64_t own = p->writer ? trace_writer_bytes(p->writer) : 0, all = total_bytes(s);

	p->max_bytes = own + (s->o->max_bytes > all ? s->o->max_bytes - all : 0);
}

static uint64_t drain_all(struct session *s)
{
	uint64_t fullest = 0;

	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		if (!s->by_door[i])
			continue;
		if (s->o->max_bytes)
			give_budget(s, s->by_door[i]);
		fullest = MAX(fullest, process_drain(s->by_door[i], true));
	}
	return fullest;
}

/* As soon as there is something in the file: whoever kills us then finds nothing of ours beside it.
 */
static void settle(struct process *p)
{
	struct process_sum sum;

	if (!p->out.older_name)
		return;
	process_sum(p, &sum);
	if (sum.nr_task_events)
		output_settle(&p->out);
}

/* A file that cannot be written ends here; CMD goes on. */
static void flush_all(struct session *s, bool anchor)
{
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		struct process *p = s->by_door[i];

		if (!p || p->is_ended)
			continue;
		process_flush(p, anchor);
		settle(p);
		if (p->error.tag == ERR_NONE)
			continue;
		session_tell_error(s, p);
		session_stop(s, TRACE_STOP_ERROR);
		return;
	}
}

static void sum_up(const struct session *s, struct session_progress *pr)
{
	*pr = (struct session_progress){ .pid = s->pid,
					 .elapsed_ns = clock_mono_ns() - s->start_ns,
					 .nr_events = s->done_events,
					 .nr_lost = s->done_lost,
					 .bytes = s->done_bytes };
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		struct process_sum sum;

		if (!s->by_door[i] || s->by_door[i]->is_ended)
			continue;
		process_sum(s->by_door[i], &sum);
		pr->nr_events += sum.nr_events;
		pr->nr_lost += sum.nr_lost;
		pr->bytes += sum.bytes;
		pr->nr_processes++;
	}
}

/* With its size there is no room for what happens while somebody looks where tasks wait. */
static void keep_limits(struct session *s, uint64_t now)
{
	bool is_over = s->o->duration_ns && now - s->start_ns >= s->o->duration_ns;

	if (s->stopped)
		return;
	if (s->o->max_bytes && total_bytes(s) >= s->o->max_bytes)
		session_stop(s, TRACE_STOP_SIZE);
	else if ((is_over || s->left_by) && session_has_looked(s, now))
		session_stop(s, s->left_by ? TRACE_STOP_INTERRUPT : TRACE_STOP_DURATION);
}

/* Somebody who waits for the command to obey should know how to leave without it. */
static void tell_how_to_leave(struct session *s, uint64_t now)
{
	if (!s->first_signal_ns || s->signal_told || now - s->first_signal_ns < SECOND_NS)
		return;
	s->signal_told = true;
	session_note(s, ERR_NONE,
		     "the command continues; a further Ctrl-C closes the recording and leaves");
}

static void every_second(struct session *s, uint64_t now)
{
	struct session_progress pr;

	if (s->o->ops->progress && now - s->start_ns >= SECOND_NS) {
		sum_up(s, &pr);
		s->o->ops->progress(s->o->arg, &pr);
	}
}

/*
 * Words that a ring holds, or one CPU's part of the memory that all rings may take: threads that
 * storm at the same time share the latter, and no more of them run than there are CPUs.
 */
static uint64_t room_words(const struct session *s)
{
	uint64_t limit = s->lobby.ring_limit, part = limit / sizeof(uint64_t) / s->nr_cpus;

	return limit ? MIN(s->lobby.ring_words, part) : s->lobby.ring_words;
}

static void one_round(struct session *s, struct rounds *r)
{
	uint32_t bell = __atomic_load_n(&s->lobby.page->doorbell, __ATOMIC_ACQUIRE);
	uint64_t now = clock_mono_ns(), fullest;

	lobby_heartbeat(&s->lobby);
	lobby_check_memory(&s->lobby);
	if (bell != r->bell || now >= r->next_doors) {
		session_look_at_doors(s);
		session_look_for_dead(s);
		look_for_end(s); /* SIGCHLD rings */
		r->next_doors = now + DOORS_NS;
	}
	r->bell = bell;
	fullest = drain_all(s);
	r->wait_ns =
		s->o->only_probes ? WAIT_IDLE_NS : pace_next_ns(room_words(s), r->wait_ns, fullest);
	keep_limits(s, now);
	tell_how_to_leave(s, now);
	if (now >= r->next_flush) {
		/* In the first second always: two anchors close together tell little of a clock's
		 * rate. */
		flush_all(s, now >= r->next_second || now - s->start_ns < SECOND_NS);
		r->next_flush = now + FLUSH_NS;
	}
	if (now >= r->next_second) {
		every_second(s, now);
		r->next_second = now + SECOND_NS;
	}
}

static uint64_t until_duration(const struct session *s, uint64_t wait_ns)
{
	uint64_t gone;

	if (s->look_until_ns && !s->stopped)
		return MIN(wait_ns, MS_NS);
	if (!s->o->duration_ns || s->stopped)
		return wait_ns;
	gone = clock_mono_ns() - s->start_ns;
	return gone >= s->o->duration_ns ? 0 : MIN(wait_ns, s->o->duration_ns - gone);
}

static void loop(struct session *s)
{
	struct rounds r = { .wait_ns = PACE_MIN_NS };

	while (!s->is_dead && !(s->left_by && s->stopped)) {
		uint64_t wait_ns;

		one_round(s, &r);
		handle_signals(s);
		wait_ns = until_duration(s, r.wait_ns);
		if (wait_ns && !s->is_dead && !(s->left_by && !s->look_until_ns))
			lobby_wait(&s->lobby, r.bell, wait_ns);
	}
	session_finish(s);
}

/* ---- the session ---- */

/* While a file is read: the program it is read for waits, but others go on and fill their rings. */
static void meanwhile(void *arg)
{
	struct session *s = arg;

	if (!s->lobby.page)
		return;
	lobby_heartbeat(&s->lobby);
	drain_all(s);
	handle_signals(s);
}

static void note_reading(void *arg, const char *text)
{
	session_note(arg, ERR_BAD_ELF, "%s", text);
}

/* Can we open as many files as a recording takes? In the middle of it would be too late. */
static bool has_files(void)
{
	int fds[FILES_NEEDED], nr = 0;
	bool is_enough;

	while (nr < FILES_NEEDED && (fds[nr] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		nr++;
	is_enough = nr == FILES_NEEDED || errno != EMFILE;
	while (nr > 0)
		close(fds[--nr]);
	return is_enough;
}

/* e: the limit that leaves no room for a recording. */
static int run_alone(const struct session *s, const struct target_start *ts, int *status,
		     struct err *e)
{
	session_note(s, ERR_SYS, "%s: %s; the command runs alone",
		     s->o->only_probes ? "no probe can fire" : "nothing is recorded", e->msg);
	target_become(ts, status, e);
	return -1;
}

static int start(struct session *s, int *status, struct err *e)
{
	const struct session_opts *o = s->o;
	struct lobby_opts lobby_opts = { .ring_bytes = o->ring_bytes,
					 .memory_bytes = o->max_memory
								 ? o->max_memory
								 : cgroup_share("", getpid(), 0),
					 .wait_ms = ANSWER_MS,
					 .follow = o->follow,
					 .no_roots = o->no_roots,
					 .no_await = o->no_await,
					 .only_probes = o->only_probes,
					 .spawn_stacks = !o->no_spawn_places };
	struct target_start ts = { .path = s->look.path,
				   .argv = o->argv,
				   .envp = o->envp,
				   .limits = &s->limits,
				   .may_be_script = s->look.is_script };
	struct trace_meta first = { .tool = "futrace", .exe = s->look.path };

	*status = 1;
	if (!has_files()) {
		err_set(e, ERR_SYS,
			"no more than %llu files may be open at a time, and 'ulimit -n 64' would be "
			"enough",
			(unsigned long long)s->limits.files.rlim_max);
		return run_alone(s, &ts, status, e);
	}
	if (lobby_open(&s->lobby, &lobby_opts, e))
		return e->tag == ERR_TOO_LARGE ? run_alone(s, &ts, status, e) : -1;
	if (!io_has_proc()) {
		err_set(e, ERR_SYS, ERR_TEXT_NO_PROC ", and the agent comes in through it");
		return run_alone(s, &ts, status, e);
	}
	first.clock = s->lobby.clock;
	if (output_open(&s->out, o->output, &first, e))
		return -1;
	s->out_beside = s->out.is_regular ? xstrdup(s->out.dest.path) : NULL;
	lobby_heartbeat(&s->lobby); /* a FIFO may have been waited for */
	signals_catch();
	signals_ring(&s->lobby.page->doorbell);
	if (s->look.note.tag != ERR_NONE)
		session_note(s, s->look.note.tag, "%s", s->look.note.msg);
	ts.agent = s->look.agent_works ? o->agent : NULL;
	ts.sanitizer = s->look.sanitizer;
	s->start_ns = clock_mono_ns();
	s->pid = target_spawn(&ts, &s->lobby, status, e);
	if (s->pid > 0)
		return 0;
	output_undo(&s->out);
	return -1;
}

static int exit_status(const struct session *s)
{
	if (!s->is_dead)
		return 128 + s->left_by;
	if (WIFSIGNALED(s->wait_status))
		return 128 + WTERMSIG(s->wait_status);
	return WEXITSTATUS(s->wait_status);
}

/* A recording of nothing does not take the place of an earlier one. */
static void end_empty(struct session *s)
{
	static const char nothing[] = "nothing was recorded";
	bool kept = s->out.old_name && output_undo(&s->out) == 0;
	struct err why = ERR_INIT;

	why_empty(s, &why);
	if (s->o->only_probes) {
		if (!s->seen.nr_hooked)
			session_note(s, why.tag, "no probe could fire%s",
				     str_has_prefix(why.msg, nothing) ? why.msg + strlen(nothing)
								      : "");
		return;
	}
	session_note(s, why.tag, "%s%s%s%s", why.msg, kept ? "; " : "", kept ? s->o->output : "",
		     kept ? " keeps the earlier recording" : "");
}

static struct session *running; /* for session_abandon, which nobody can tell which it is */

bool session_is_running(void)
{
	return running;
}

int session_abandon(void)
{
	struct session *s = running;

	running = NULL;
	if (!s || s->pid <= 0)
		return -1;
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++)
		if (s->by_door[i])
			process_stop(s->by_door[i]);
	lobby_close(&s->lobby);
	signals_restore();
	while (!s->is_dead && waitpid(s->pid, &s->wait_status, 0) < 0)
		if (errno != EINTR)
			return -1;
	s->is_dead = true;
	return exit_status(s);
}

int session_run(const struct session_opts *o, int *status, struct err *e)
{
	struct reading_opts reading = {
		.discover = { .cache_dir = o->cache_dir, .names = true, .futures = o->futures },
		.awaits = !o->no_await
	};
	struct session s = { .o = o,
			     .lobby = { .fd = -1 },
			     .out = OUTPUT_INIT,
			     .nr_cpus = MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L) };
	int rc = -1;

	limits_raise(&s.limits);
	signals_ignore();
	catalog_init(&s.catalog, &reading);
	s.catalog.meanwhile = (struct worker_meanwhile){ meanwhile, &s };
	s.catalog.note = note_reading;
	s.catalog.note_arg = &s;
	if (target_look(&s.look, o->argv[0], o->path_env, &s.catalog, status, e) == 0 &&
	    start(&s, status, e) == 0) {
		running = &s;
		loop(&s);
		if (s.seen.nr_task_events == 0)
			end_empty(&s);
		*status = exit_status(&s);
		running = NULL;
		rc = 0;
	}
	signals_restore();
	limits_restore(&s.limits);
	output_release(&s.out);
	free(s.out_beside);
	signals_ring(NULL);
	lobby_close(&s.lobby);
	catalog_release(&s.catalog);
	target_look_release(&s.look);
	why_release(&s.seen);
	return rc;
}
