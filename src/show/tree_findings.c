// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/tree_findings.h"

#include <string.h>

#include "base/format.h"
#include "model/shorten.h"
#include "show/look_text.h"

#define MAX_TASKS   10 /* of a finding, in text */
#define PLACE_WIDTH 40
struct rule {
	const char *name, *severity;
	const char *what, *what_many; /* behind "1 task", and behind the number of several */
	const char *advice;
};

static const struct rule rules[] = {
	{ "lock-cycle", "critical", "waits for ever for a lock that it holds itself",
	  "wait for ever for each other's locks",
	  "take locks in the same order everywhere, or release one before waiting for another" },
	{ "semaphore-cycle", "warning",
	  "waits for permits of a semaphore of which it holds some itself, for ever unless "
	  "others have or add some",
	  "wait for each other's permits, for ever unless others have or add some",
	  "take semaphores in the same order everywhere, or all permits at once (acquire_many)" },
	{ "await-cycle", "critical", "waits for its own end", "wait for ever for each other's end",
	  "use a channel between them, or abort one, instead of awaiting its end" },
	{ "futurelock", "critical",
	  "waits for a lock that belongs to a future which is not "
	  "polled",
	  "wait for locks that belong to futures which are not polled",
	  "drop the future that lost before waiting again, or let a task of its own run it" },
	{ "no-waker", "critical", "waits, and nothing can wake it",
	  "wait, and nothing can wake them",
	  "a future that returns Pending must store its waker, and some code must call it" },
};

void findings_notes(const struct findings *f, const struct note_sink *notes)
{
	if (f->nr_left_out)
		note_add(notes, "%u finding%s of tasks that do not match '%s' %s left out",
			 f->nr_left_out, plural(f->nr_left_out), f->filter,
			 f->nr_left_out == 1 ? "is" : "are");
	if (f->nr_doubtful)
		note_add(notes,
			 "%u finding%s about locks %s left out: a task could not be read, and may "
			 "have them; look again",
			 f->nr_doubtful, plural(f->nr_doubtful),
			 f->nr_doubtful == 1 ? "is" : "are");
}

static const struct rule *rule_of(const struct stuck *s)
{
	const struct rule *r = rules;

	while (strcmp(r->name, s->rule) != 0)
		r++;
	return r;
}

static void add_who(const struct look *l, uint32_t task, struct strbuf *out)
{
	look_add_who(&l->census, &l->census.tasks.v[task], out);
}

static const struct stuck_task *behind(const struct stuck *s, size_t i)
{
	return &s->tasks.v[(i + 1) % s->tasks.nr];
}

static void add_task(const struct look *l, const struct stuck *s, size_t i, struct strbuf *out)
{
	const struct stuck_task *t = &s->tasks.v[i];
	const struct tie *held = t->held_by;

	strbuf_addstr(out, "    ");
	add_who(l, t->wants->task, out);
	if (*t->wants->file) {
		strbuf_addstr(out, " waits at ");
		shorten_place(out, t->wants->file, t->wants->line, PLACE_WIDTH);
	}
	if (t->wants->kind == TIE_JOINS) {
		strbuf_addstr(out, " for the end of ");
		add_who(l, behind(s, i)->wants->task, out);
	} else if (held) {
		strbuf_addf(out, " for %s 0x%llx, held by ",
			    t->wants->kind == TIE_WANTS_PERMIT ? "semaphore" : "lock",
			    (unsigned long long)held->addr);
		add_who(l, held->task, out);
		strbuf_addstr(out, held->kind == TIE_KEEPS_LOCK ? " in a future left at " : " at ");
		shorten_place(out, held->file, held->line, PLACE_WIDTH);
	}
	strbuf_addch(out, '\n');
}

/* "2 tasks", "1 task and 1 thread" */
static void add_number(const struct look *l, const struct stuck *s, struct strbuf *out)
{
	size_t nr_threads = 0, nr_tasks;

	vec_each (t, &s->tasks)
		nr_threads += look_is_guess(l, &l->census.tasks.v[t->wants->task]);
	nr_tasks = s->tasks.nr - nr_threads;
	if (nr_tasks)
		strbuf_addf(out, "%zu task%s", nr_tasks, plural(nr_tasks));
	if (nr_threads)
		strbuf_addf(out, "%s%zu thread%s", nr_tasks ? " and " : "", nr_threads,
			    plural(nr_threads));
}

static const char growth_advice[] =
	"find out what should end these tasks: a closed channel, a timeout, an abort";

static const struct found_table *table_of(const struct findings *f, const struct growth *g)
{
	return f->look->census.tables.v[g->table].found;
}

static void add_growth(const struct findings *f, const struct growth *g,
		       const struct styles *styles, struct strbuf *out)
{
	char bytes[FORMAT_SIZE];

	strbuf_addf(out, "%sgrowth%s  tasks of one type became more: %llu, before %llu",
		    style_on(styles, STYLE_HEAD), style_off(styles), (unsigned long long)g->after,
		    (unsigned long long)g->before);
	if (g->task_bytes)
		strbuf_addf(out, ", %s each", format_bytes(g->task_bytes, bytes));
	strbuf_addstr(out, "\n    ");
	shorten_type(out, table_of(f, g)->name, 100);
	strbuf_addf(out, "\n    %s%s%s\n\n", style_on(styles, STYLE_ADVICE), growth_advice,
		    style_off(styles));
}

void findings_text(const struct findings *f, const struct styles *styles, struct strbuf *out)
{
	vec_each (s, &f->found.all) {
		const struct rule *r = rule_of(s);

		strbuf_addf(out, "%s%s%s  ", style_on(styles, STYLE_HEAD), r->name,
			    style_off(styles));
		add_number(f->look, s, out);
		strbuf_addf(out, " %s\n", s->tasks.nr == 1 ? r->what : r->what_many);
		for (size_t i = 0; i < MIN(s->tasks.nr, (size_t)MAX_TASKS); i++)
			add_task(f->look, s, i, out);
		if (s->tasks.nr > MAX_TASKS)
			strbuf_addf(out, "    .. and %zu more\n", s->tasks.nr - MAX_TASKS);
		strbuf_addf(out, "    %s%s%s\n\n", style_on(styles, STYLE_ADVICE), r->advice,
			    style_off(styles));
	}
	vec_each (g, &f->growth)
		add_growth(f, g, styles, out);
}

static void json_place(const char *key, const struct tie *t, struct json *j)
{
	struct strbuf text = STRBUF_INIT;

	if (*t->file)
		strbuf_addf(&text, "%s:%u", t->file, t->line);
	json_str(j, key, *t->file ? text.s : NULL);
	strbuf_release(&text);
}

static void json_task(const struct look *l, const struct stuck *s, size_t i, struct json *j)
{
	const struct stuck_task *t = &s->tasks.v[i];
	const struct census_task *task = &l->census.tasks.v[t->wants->task];
	struct strbuf type = STRBUF_INIT;

	look_add_type(l, task, &type);
	json_open_object(j, NULL);
	json_uint(j, "id", task->id);
	json_str(j, "type", type.s);
	json_place("location", t->wants, j);
	if (t->wants->kind == TIE_JOINS)
		json_uint(j, "waits_for", l->census.tasks.v[behind(s, i)->wants->task].id);
	if (t->held_by) {
		json_uint(j, "lock", t->held_by->addr);
		json_uint(j, "holder", l->census.tasks.v[t->held_by->task].id);
		json_place("holder_location", t->held_by, j);
	}
	json_close_object(j);
	strbuf_release(&type);
}

static void json_finding(const struct look *l, const struct stuck *s, struct json *j)
{
	json_open_object(j, NULL);
	json_str(j, "rule", s->rule);
	json_str(j, "severity", rule_of(s)->severity);
	json_open_array(j, "tasks");
	for (size_t i = 0; i < s->tasks.nr; i++)
		json_task(l, s, i, j);
	json_close_array(j);
	json_str(j, "advice", rule_of(s)->advice);
	json_close_object(j);
}

static void json_growth(const struct findings *f, const struct growth *g, struct json *j)
{
	json_open_object(j, NULL);
	json_str(j, "rule", "growth");
	json_str(j, "severity", "warning");
	json_str(j, "type", table_of(f, g)->name);
	json_open_object(j, "figures");
	json_uint(j, "before", g->before);
	json_uint(j, "after", g->after);
	json_uint(j, "task_bytes", g->task_bytes);
	json_close_object(j);
	json_open_array(j, "tasks");
	json_close_array(j);
	json_str(j, "advice", growth_advice);
	json_close_object(j);
}

void findings_json(const struct findings *f, struct json *j)
{
	json_open_array(j, "findings");
	for (size_t i = 0; f && i < f->found.all.nr; i++)
		json_finding(f->look, &f->found.all.v[i], j);
	for (size_t i = 0; f && i < f->growth.nr; i++)
		json_growth(f, &f->growth.v[i], j);
	json_close_array(j);
}
