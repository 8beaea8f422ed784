// SPDX-License-Identifier: MIT OR Apache-2.0
/* Why a recording is empty: nobody should have to guess. */
#include "capture/session_priv.h"

#include <string.h>

static void note_runtimes(struct session_seen *seen, const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		const struct found_runtime *r = &d->runtimes[i];

		if (!seen->runtime)
			seen->runtime =
				xasprintf("%s%s%s", r->name, *r->version ? " " : "", r->version);
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

static void why_not_hooked(const struct session_seen *seen, struct err *e)
{
	switch (seen->note) {
	case WIRE_NOTE_NO_ANSWER:
		err_set(e, ERR_SYS,
			"nothing was recorded: looking at the program took so long that it went on "
			"without; record it again (what was found is cached)");
		break;
	case WIRE_NOTE_NO_TID:
		err_set(e, ERR_SYS,
			"nothing was recorded: this C library keeps thread ids where futrace does not "
			"find them; please report its version");
		break;
	case WIRE_NOTE_PROTECT:
		err_set(e, ERR_PERMISSION,
			"nothing was recorded: a security policy forbids the program to make its own "
			"tables writable");
		break;
	case WIRE_NOTE_OBJECTS:
		err_set(e, ERR_SYS,
			"nothing was recorded: the program has more than %d libraries loaded",
			WIRE_MAX_OBJECTS);
		break;
	default:
		err_set(e, ERR_BAD_ELF,
			"nothing was recorded: the task tables in memory are not those in the file; was "
			"%s replaced while it ran?",
			seen->exe ? seen->exe : "the program");
	}
}

static void why_no_tables(const struct session *s, struct err *e)
{
	const struct session_seen *seen = &s->seen;
	const char *children = s->o->follow ? "" : "; its child processes need --follow";

	if (seen->note)
		why_not_hooked(seen, e);
	else if (seen->runtime)
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s was found, but no task table that "
			"is certain%s%s",
			seen->runtime, seen->refusal ? ": " : "",
			seen->refusal ? seen->refusal : "");
	else
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: no async runtime that futrace knows (Tokio 1.23 or later) "
			"is in %s or the %llu libraries it loaded%s",
			seen->exe ? seen->exe : s->look.image,
			(unsigned long long)(seen->nr_objects ? seen->nr_objects - 1 : 0),
			children);
}

void why_empty(const struct session *s, struct err *e)
{
	const struct session_seen *seen = &s->seen;

	if (!s->look.agent_works)
		err_set(e, s->look.note.tag, "nothing was recorded, as said before: %s is %s",
			s->look.image,
			s->look.note.tag == ERR_STATIC	 ? "not linked with glibc's loader"
			: s->look.note.tag == ERR_SETUID ? "privileged"
							 : "of another architecture");
	else if (s->stopped == TRACE_STOP_ERROR)
		err_set(e, ERR_SYS, "nothing was recorded, as said before: %s cannot be written",
			s->o->output);
	else if (!seen->exe && s->lobby.page->nr_turned_away)
		err_set(e, ERR_SYS, "nothing was recorded: more than %u processes at a time",
			s->lobby.page->nr_doors);
	else if (!seen->exe)
		err_set(e, ERR_NO_AGENT,
			"nothing was recorded: the agent did not come into %s; it became a static or "
			"privileged program, cleared its environment, or ended at once%s",
			s->look.image, s->o->follow ? "" : "; its child processes need --follow");
	else if (!seen->nr_tables)
		why_no_tables(s, e);
	else if (!seen->nr_hooked)
		why_not_hooked(seen, e);
	else
		err_set(e, ERR_NOT_ASYNC,
			"nothing was recorded: %s has %s inside, but ran no task (the future given to "
			"block_on is no task)%s",
			seen->exe, seen->runtime ? seen->runtime : "a runtime",
			s->o->follow ? "" : "; its child processes need --follow");
}

void why_release(struct session_seen *seen)
{
	free(seen->exe);
	free(seen->runtime);
	free(seen->refusal);
}
