// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/look_text.h"

#include "base/candidates.h"
#include "base/format.h"

void look_notes(const struct look *l, const struct note_sink *notes)
{
	char bytes[FORMAT_SIZE];

	vec_each (tid, &l->census.rootless)
		note_add(notes, "thread %u waits in block_on, but its future was not found", *tid);
	if (l->memory->nr_missing_bytes)
		note_add(notes,
			 "the core file was cut: %s of memory are missing, and tasks with them",
			 format_bytes(l->memory->nr_missing_bytes, bytes));
	if (l->objects.nr_other)
		note_add(notes, "%s: its tasks are not shown", l->objects.note.msg);
	else if (l->objects.nr_unreadable)
		note_add(notes, "%u mapped file%s could not be read: %s", l->objects.nr_unreadable,
			 plural(l->objects.nr_unreadable), l->objects.note.msg);
	vec_each (o, &l->objects.list) {
		if (!o->layouts && o->d->nr_tables)
			note_add(notes, "%s: where its tasks wait is unknown: %s", o->d->path,
				 o->why_no_layouts);
		else if (o->why_no_layouts && *o->why_no_layouts)
			note_add(notes, "%s: %s", o->d->path, o->why_no_layouts);
		for (uint32_t i = 0; i < o->d->nr_runtimes; i++)
			if (o->d->runtimes[i].nr_refused)
				note_add(notes, "%s in %s: %s", o->d->runtimes[i].name, o->d->path,
					 o->d->runtimes[i].note);
	}
}

void look_note_none(const struct look *l, const char *filter, const struct note_sink *notes)
{
	uint32_t nr = 0;

	vec_each (t, &l->memory->threads)
		nr += !t->sp;
	if (filter)
		note_add(notes, "no live task fits '%s'", filter);
	else if (nr)
		note_add(notes,
			 "no task is alive; but %u thread%s, and the block_on future of a "
			 "running thread is not seen",
			 nr, nr == 1 ? " runs" : "s run");
	else
		note_add(notes, "no task is alive");
}

const char *look_state_name(enum task_state state)
{
	static const char *const names[] = {
		[TASK_NONE] = "gone",		[TASK_OVER] = "over",	    [TASK_IDLE] = "idle",
		[TASK_SCHEDULED] = "scheduled", [TASK_RUNNING] = "running",
	};

	return names[state];
}

static bool is_root(const struct census *c, const struct census_task *t)
{
	return c->tables.v[t->table].found->kind == TRACE_BLOCK_ON;
}

void look_add_id(const struct census_task *t, struct strbuf *out)
{
	if (t->id == t->addr)
		strbuf_addf(out, "0x%llx", (unsigned long long)t->id);
	else
		strbuf_adduint(out, t->id);
}

void look_add_who(const struct census *c, const struct census_task *t, struct strbuf *out)
{
	strbuf_addstr(out, is_root(c, t) ? "thread " : "task ");
	look_add_id(t, out);
}

void look_add_type(const struct look *l, const struct census_task *t, struct strbuf *out)
{
	const struct found_table *table = look_table(l, t);

	if (*table->name)
		label_candidates(out, table->name, table->nr_candidates);
	else
		strbuf_addf(out, "table 0x%llx", (unsigned long long)table->plan.va);
}
