// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Processes of a session: each comes in by a door of the lobby, is recorded to a file of its own,
 * and goes. CMD's first image that has anything to record goes to FILE. Others go to FILE.PID, and
 * what one of them becomes by exec after it has recorded something to FILE.PID.N.
 */
#include "capture/cgroup.h"
#include "capture/session_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "capture/dialogue.h"
#include "capture/exit_code.h"
#include "capture/unhook.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS	  (10 * SECOND_NS) /* no recording is stopped later than that */

static uint64_t cpu_ns(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static bool is_target(const struct session *s, const struct process *p)
{
	return p->pid == (uint32_t)s->pid;
}

/* ---- going ---- */

static void report_file(struct session *s, const struct process *p, const struct trace_end *end)
{
	struct session_file f = {
		.path = p->out.path ? p->out.path : p->out_path,
		.pid = p->pid,
		.is_regular = p->out.is_regular,
		.is_of_command = is_target(s, p),
		.is_whole = p->error.tag == ERR_NONE,
		.end = end->kind,
		.status = end->status,
	};

	process_sum(p, &f.sum);
	s->done_bytes += f.sum.bytes;
	s->done_events += f.sum.nr_events;
	s->done_lost += f.sum.nr_lost;
	if (s->o->ops->file)
		s->o->ops->file(s->o->arg, &f);
}

static void end_file(struct session *s, struct process *p, enum trace_end_kind kind,
		     uint32_t status)
{
	struct trace_end end = {
		.kind = kind,
		.status = status,
		.ticks = clock_ticks(s->lobby.clock),
		.tool_cpu_ns = cpu_ns(RUSAGE_SELF) + worker_cpu_ns(),
		.target_cpu_ns = is_target(s, p) ? s->target_cpu_ns : 0,
	};
	struct process_sum sum;

	if (p->is_ended)
		return;
	process_drain(p, true);
	why_look_at(&s->seen, p, is_target(s, p));
	process_sum(p, &sum);
	/* A follower that had nothing to tell leaves no file. */
	if (!is_target(s, p) && !sum.nr_task_events && process_discard(p) == 0) {
		output_undo(&p->out);
		p->is_ended = true;
		return;
	}
	process_end(p, &end);
	session_tell_error(s, p);
	report_file(s, p, &end);
	/* Whether FILE is worth more than what stood there is known when all have ended. */
	if (p->out.old_name && !sum.nr_task_events && strcmp(p->out.path, s->o->output) == 0) {
		s->out = p->out;
		p->out = (struct output)OUTPUT_INIT;
	}
}

static void drop(struct session *s, struct process *p)
{
	s->by_door[p->door] = NULL;
	lobby_recycle_door(&s->lobby, p->door);
	process_free(p);
}

static bool is_alive(const struct process *p)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd < 0)
		return kill(p->pid, 0) == 0 || errno == EPERM;
	return poll(&pfd, 1, 0) <= 0;
}

static void set_end(int wait_status, enum trace_end_kind *kind, uint32_t *status)
{
	*kind = WIFSIGNALED(wait_status) ? TRACE_SIGNALED : TRACE_EXITED;
	*status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void end_dead(struct session *s, struct process *p)
{
	enum trace_end_kind kind = TRACE_GONE;
	uint32_t status = 0;
	int wait_status;

	if (exit_code_get(p->pidfd, p->pid, &wait_status))
		set_end(wait_status, &kind, &status);
	end_file(s, p, kind, status);
}

void session_look_for_dead(struct session *s)
{
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		struct process *p = s->by_door[i];

		/* CMD's own end is told by wait, with its status. */
		if (!p || is_target(s, p) || is_alive(p))
			continue;
		end_dead(s, p);
		drop(s, p);
	}
}

static void stop_process(struct session *s, struct process *p, enum trace_stop why)
{
	process_stop(p);
	unhook_process(p, s->o->agent_real);
	end_file(s, p, TRACE_STOPPED, why);
}

/* Somebody who waits for us to leave should know why we do not, and how to. */
static void tell_of_look(struct session *s, uint64_t now)
{
	if (!s->left_by || s->look_told || s->look_until_ns - now > LOOK_NS - SECOND_NS)
		return;
	s->look_told = true;
	session_note(s, ERR_NONE,
		     "taking a census of waiting tasks; a further Ctrl-C leaves at "
		     "once");
}

/* One after another: each uses all processors. */
bool session_has_looked(struct session *s, uint64_t now)
{
	if (!s->look_until_ns)
		s->look_until_ns = now + LOOK_NS;
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		struct process *p = s->by_door[i];

		if (!p)
			continue;
		last_look_begin(p);
		if (last_look_is_done(p))
			continue;
		if (!s->is_hurried && now < s->look_until_ns) {
			tell_of_look(s, now);
			return false;
		}
		session_note(s, ERR_NONE,
			     "the census of waiting tasks took too long: waits that are not "
			     "over have no place");
		break;
	}
	return true;
}

void session_stop(struct session *s, enum trace_stop why)
{
	s->stopped = why;
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++)
		if (s->by_door[i])
			stop_process(s, s->by_door[i], why);
}

/* ---- coming ---- */

static char *further_path(const struct session *s, const struct process *p)
{
	/* Beside a device there is no place for files. */
	if (!s->out_beside)
		return xstrdup("/dev/null");
	if (p->nr_execs)
		return xasprintf("%s.%u.%u", s->out_beside, p->pid, p->nr_execs);
	return xasprintf("%s.%u", s->out_beside, p->pid);
}

/* p is what old has become. Had old nothing to tell, its file is p's: nobody cares for wrapper
 * scripts. */
static void succeed(struct session *s, struct process *old, struct process *p)
{
	struct process_sum sum;

	p->nr_execs = old->nr_execs + 1;
	__atomic_store_n(&old->region->is_leaving, 0, __ATOMIC_RELAXED);
	if (!old->is_ended) {
		process_drain(old, true);
		process_sum(old, &sum);
		if (!sum.nr_task_events && process_discard(old) == 0) {
			why_look_at(&s->seen, old, is_target(s, old));
			p->out = old->out;
			p->out_path = old->out_path;
			old->out = (struct output)OUTPUT_INIT;
			old->out_path = NULL;
		} else {
			end_file(s, old, TRACE_EXECED, 0);
		}
	}
	if (!p->out_path)
		p->out_path = further_path(s, p);
	drop(s, old);
}

static struct process *find_pid(struct session *s, uint32_t pid)
{
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++)
		if (s->by_door[i] && s->by_door[i]->pid == pid)
			return s->by_door[i];
	return NULL;
}

static void come_in(struct session *s, uint32_t door)
{
	struct err e = ERR_INIT;
	struct process *p = process_new(&s->lobby, door, &e), *old;

	if (!p) {
		if (!s->door_failed)
			session_note(s, e.tag, "%s; it is not recorded", e.msg);
		s->door_failed = true;
		lobby_answer_nothing(&s->lobby, door);
		return;
	}
	/* it may be in a group of its own, or in one that has less room by now */
	if (!s->o->max_memory)
		lobby_limit_memory(&s->lobby, cgroup_share("", p->pid, s->lobby.page->rings.used));
	old = find_pid(s, p->pid);
	if (!is_target(s, p) && s->pid)
		s->seen.nr_processes++;
	if (old) {
		succeed(s, old, p);
	} else if (is_target(s, p) && !s->out_taken) {
		p->out = s->out;
		p->out_path = xstrdup(s->o->output);
		p->parent_pid = 0;
		s->out = (struct output)OUTPUT_INIT;
		s->out_taken = true;
	} else {
		p->out_path = further_path(s, p);
	}
	s->by_door[door] = p;
	if (s->stopped)
		process_stop(p);
}

static bool is_taken(const struct wire_door *d)
{
	return __atomic_load_n(&d->state, __ATOMIC_ACQUIRE) == WIRE_DOOR_TAKEN &&
	       __atomic_load_n(&d->pid, __ATOMIC_ACQUIRE) != 0;
}

void session_look_at_doors(struct session *s)
{
	for (uint32_t i = 0; i < MIN(s->lobby.page->nr_doors, WIRE_MAX_DOORS); i++) {
		if (!s->by_door[i] && is_taken(&s->lobby.page->doors[i]))
			come_in(s, i);
		if (s->by_door[i])
			dialogue_answer(s->by_door[i], &s->catalog);
	}
}

/* ---- the end ---- */

/* Nobody came in: FILE says so. */
static void write_empty(struct session *s, enum trace_end_kind kind, uint32_t status)
{
	struct process *p = process_new_absent(&s->lobby, s->pid, s->look.image, s->o->argv);

	if (!p)
		return;
	p->out = s->out;
	s->out = (struct output)OUTPUT_INIT;
	s->out_taken = true;
	end_file(s, p, kind, status);
	process_free(p);
	/* it is known from its file alone */
	free(s->seen.exe);
	s->seen.exe = NULL;
}

void session_finish(struct session *s)
{
	enum trace_end_kind kind = TRACE_STOPPED;
	uint32_t status = s->stopped ? s->stopped : TRACE_STOP_INTERRUPT;

	if (s->is_dead)
		set_end(s->wait_status, &kind, &status);
	session_look_at_doors(s);
	session_look_for_dead(s);
	for (uint32_t i = 0; i < WIRE_MAX_DOORS; i++) {
		struct process *p = s->by_door[i];

		if (!p)
			continue;
		if (is_target(s, p) && s->is_dead) {
			end_file(s, p, kind, status);
		} else {
			if (!p->is_ended && s->is_dead)
				session_note(
					s, ERR_NONE,
					"process %u (%s) outlives the command and is no longer "
					"recorded",
					p->pid, p->exe);
			stop_process(s, p, TRACE_STOP_INTERRUPT);
		}
		s->by_door[i] = NULL;
		process_free(p);
	}
	if (!s->out_taken)
		write_empty(s, kind, status);
}
