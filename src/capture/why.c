// SPDX-License-Identifier: MIT OR Apache-2.0
/* Why a recording is empty: nobody should have to guess. */
#include "capture/session_priv.h"

#include <string.h>

#include "runtime/known.h"

/* A runtime whose code is inside, but that spawns nothing, gives way to one that has tasks. */
static void note_runtimes(struct session_seen *seen, const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		const struct found_runtime *r = &d->runtimes[i];

		if (!seen->runtime || (r->nr_tables && !seen->runtime_has_tables)) {
			free(seen->runtime);
			seen->runtime =
				xasprintf("%s%s%s", r->name, *r->version ? " " : "", r->version);
			seen->runtime_has_tables = r->nr_tables;
		}
		if (!seen->refusal && *r->note)
			seen->refusal = xstrdup(r->note);
	}
}

void why_look_at(struct session_seen *seen, const struct process *p, bool is_target)
{
	struct process_sum sum;

	process_sum(p, &sum);
	seen->nr_objects += sum.nr_objects;
	seen->nr_tables += sum.nr_tables;
	seen->nr_hooked += sum.nr_hooked;
	seen->nr_task_events += sum.nr_task_events;
	seen->nr_unreadable += sum.nr_unreadable;
	if (sum.nr_hooked) /* a shell that runs before the program forks, too */
		seen->nr_unfollowed += sum.nr_unfollowed + MAX((int32_t)p->region->nr_coming, 0);
	seen->nr_apart += sum.nr_apart;
	if (__atomic_load_n(&p->region->is_leaving, __ATOMIC_RELAXED))
		seen->has_left = true;
	if (p->region->note)
		seen->note = p->region->note;
	vec_each (o, &p->objects)
		if (o->d)
			note_runtimes(seen, o->d);
	if (is_target) {
		free(seen->exe);
		seen->exe = xstrdup(p->exe);
	}
}

static const char *program(const struct session *s)
{
	return s->seen.exe && *s->seen.exe ? s->seen.exe : s->look.image;
}

static const char *children(const struct session *s)
{
	return s->o->follow ? "" : "; if it starts others, add --follow";
}

static void why_not_hooked(const struct session *s, struct err *e)
{
	switch (s->seen.note) {
	case WIRE_NOTE_NO_ANSWER:
		err_set(e, ERR_SYS,
			"nothing was recorded: reading the program took too long; record it "
			"again (it is cached now)");
		break;
	case WIRE_NOTE_SILENT:
		err_set(e, ERR_SYS,
			"nothing was recorded: futrace was stopped or got no CPU when the "
			"program started; record it again");
		break;
	case WIRE_NOTE_NO_TID:
		err_set(e, ERR_SYS,
			"nothing was recorded: this C library keeps thread ids elsewhere; please report "
			"its version");
		break;
	case WIRE_NOTE_PROTECT:
		err_set(e, ERR_PERMISSION,
			"nothing was recorded: a security policy forbids making the task tables "
			"writable");
		break;
	case WIRE_NOTE_OBJECTS:
		err_set(e, ERR_SYS,
			"nothing was recorded: the program has more than %d libraries loaded",
			WIRE_MAX_OBJECTS);
		break;
	default:
		err_set(e, ERR_BAD_ELF,
			"nothing was recorded: the task tables in memory differ from the file's; was %s "
			"replaced?",
			program(s));
	}
}

/* The kernel does not even tell the name of a program that may not be read. */
static bool is_unreadable(const struct session *s)
{
	return s->seen.exe && !*s->seen.exe;
}

static void why_unreadable(const struct session *s, struct err *e)
{
	if (s->look.is_unreadable && s->look.note.tag == ERR_PERMISSION)
		err_set(e, ERR_PERMISSION, "nothing was recorded: %s cannot be read, see above",
			s->look.image);
	else
		err_set(e, ERR_PERMISSION,
			"nothing was recorded: the program that %s became cannot be read; its owner can "
			"chmod +r it",
			s->look.path);
}

/* ld-linux-x86-64.so.2, and ld-2.31.so of older ones. */
static bool is_loader(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return str_has_prefix(name, "ld-") && strstr(name, ".so");
}

static void why_no_runtime(const struct session *s, struct err *e)
{
	struct strbuf known = STRBUF_INIT;

	known_runtimes_text(&known);
	if (is_loader(program(s)))
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s was started as a program, and the program "
			"that it loads is unknown; start that one directly",
			program(s));
	else if (s->seen.has_left)
		err_set(e, ERR_NO_AGENT,
			"nothing was recorded: the program that %s became or started could not "
			"load the agent: it is of another user or user namespace, static, or "
			"privileged; if the user changes, put futrace behind that command",
			program(s));
	else
		err_set(e, ERR_NOT_ASYNC, "nothing was recorded: no async runtime (%s) in %s%s",
			known.s, program(s), children(s));
	strbuf_release(&known);
}

static void why_no_tables(const struct session *s, struct err *e)
{
	const struct session_seen *seen = &s->seen;

	if (seen->note)
		why_not_hooked(s, e);
	else if (seen->nr_apart)
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s was loaded by dlmopen, into a link namespace of its own, "
			"where it cannot be recorded; load it by dlopen",
			seen->runtime ? seen->runtime : "an async runtime");
	else if (seen->runtime)
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s was found, but no task table could be "
			"identified%s%s",
			seen->runtime, seen->refusal ? ": " : "",
			seen->refusal ? seen->refusal : "");
	else if (is_unreadable(s))
		why_unreadable(s, e);
	else
		why_no_runtime(s, e);
}

static const char *what_keeps_out(enum err_tag tag)
{
	if (tag == ERR_STATIC)
		return "not linked with glibc's loader";
	return tag == ERR_SETUID ? "privileged" : "of another architecture";
}

/* The latest program of a process may be the one that has tasks. */
static bool is_unanswered(const struct session_seen *seen)
{
	return seen->note == WIRE_NOTE_NO_ANSWER || seen->note == WIRE_NOTE_SILENT;
}

void why_empty(const struct session *s, struct err *e)
{
	const struct session_seen *seen = &s->seen;

	if (!s->look.agent_works)
		err_set(e, s->look.note.tag, "nothing was recorded: %s is %s, see above",
			s->look.image, what_keeps_out(s->look.note.tag));
	else if (s->stopped == TRACE_STOP_ERROR)
		err_set(e, ERR_SYS, "nothing was recorded: %s cannot be written, see above",
			s->o->output);
	else if (!seen->nr_hooked && s->lobby.page->nr_no_room)
		err_set(e, ERR_SYS,
			"nothing was recorded: the limit on address space (ulimit -v) leaves no room; "
			"raise it%s",
			s->o->only_probes ? "" : ", or use a smaller --ring-size");
	else if (!seen->exe && s->lobby.page->nr_turned_away)
		err_set(e, ERR_SYS, "nothing was recorded: more than %u processes at a time",
			s->lobby.page->nr_doors);
	else if (!seen->exe)
		err_set(e, ERR_NO_AGENT,
			"nothing was recorded: %s ended before the agent was loaded, or became "
			"a static program%s",
			s->look.image, children(s));
	else if (!seen->nr_tables)
		why_no_tables(s, e);
	else if (!seen->nr_hooked || is_unanswered(seen))
		why_not_hooked(s, e);
	else if (seen->nr_unfollowed)
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s itself ran no task, and continued in a forked "
			"child that was not followed; run it in the foreground if it is a "
			"daemon%s",
			program(s), s->o->follow ? "" : ", or add --follow");
	else
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s ran no task of %s (the future of block_on is "
			"not a task)%s",
			program(s), seen->runtime ? seen->runtime : "its runtime", children(s));
}

void why_release(struct session_seen *seen)
{
	free(seen->exe);
	free(seen->runtime);
	free(seen->refusal);
}
