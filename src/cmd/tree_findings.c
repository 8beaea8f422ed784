// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/tree_findings.h"

#include <string.h>
#include <time.h>

#include "base/format.h"
#include "model/shorten.h"

#define MAX_TASKS   10 /* of a finding, in text */
#define PLACE_WIDTH 40
#define AGAIN_NS    100000000
#define NR_AGAIN    3	/* looks at most, until each task was read once */
#define MIN_GROWTH  100 /* tasks, and a tenth of those that were */

struct rule {
	const char *name, *severity;
	const char *what, *what_many; /* behind "1 task", and behind the number of several */
	const char *advice;
};

static const struct rule rules[] = {
	{ "lock-cycle", "critical",
	  "waits for a lock that it holds itself, and will do so for ever",
	  "wait for each other's locks, and will do so for ever",
	  "take locks in the same order everywhere, or let go of one before waiting for another" },
	{ "semaphore-cycle", "warning",
	  "waits for permits of a semaphore of which it holds some itself, and will do so for ever "
	  "unless others have or add some",
	  "wait for each other's permits, and will do so for ever unless others have or add some",
	  "take semaphores in the same order everywhere, or all permits at once (acquire_many)" },
	{ "await-cycle", "critical", "waits for its own end",
	  "wait for each other's end, and will do so for ever",
	  "let one of them be told by a channel, or abort it, in place of waiting for its end" },
	{ "futurelock", "critical", "waits for a lock that belongs to a future which nobody polls",
	  "wait for locks that belong to futures which nobody polls",
	  "drop the future that lost before waiting again, or let a task of its own run it" },
	{ "no-waker", "critical", "waits, and nothing can wake it",
	  "wait, and nothing can wake them",
	  "a future that returns Pending must keep the waker it was given, and somebody must call it" },
};

void findings_init(struct findings *f, const struct look *l, const char *filter)
{
	*f = (struct findings){
		.look = l,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.filter = filter,
		.are_wanted = xcalloc(l->census.tasks.nr + 1, sizeof(*f->are_wanted)),
		.are_read = xcalloc(l->census.tasks.nr + 1, sizeof(*f->are_read)),
	};
	ties_init(&f->ties, &l->census);
}

void findings_release(struct findings *f)
{
	ties_release(&f->ties);
	stuck_release(&f->found);
	vec_release(&f->growth);
	free(f->are_wanted);
	free(f->are_read);
}

/* What runs on a thread of its own has no future that could have a guard. */
static void note_read(struct findings *f, size_t index, const struct walk_result *r)
{
	const struct census_task *t = &f->look->census.tasks.v[index];

	if (r->status == WALK_OK || r->status == WALK_GONE ||
	    look_table(f->look, t)->kind == TRACE_BLOCKING)
		f->are_read[index] = true;
}

void findings_add(void *findings, size_t index, const struct walk_result *r)
{
	struct findings *f = findings;

	note_read(f, index, r);
	if (r->status != WALK_OK)
		return;
	f->are_wanted[index] =
		look_fits(f->look, f->filter, &f->look->census.tasks.v[index], r->tree);
	pthread_mutex_lock(&f->lock);
	ties_add(&f->ties, index, r->tree);
	pthread_mutex_unlock(&f->lock);
}

/* ---- what is certain ---- */

/* A second look: ties of the same tasks, a little later. */
struct again {
	struct findings *findings;
	struct ties ties;
	struct stuck_list found;
};

static void add_again(void *again, size_t index, const struct walk_result *r)
{
	struct again *a = again;

	note_read(a->findings, index, r);
	if (r->status != WALK_OK)
		return;
	pthread_mutex_lock(&a->findings->lock);
	ties_add(&a->ties, index, r->tree);
	pthread_mutex_unlock(&a->findings->lock);
}

static bool has_unread(const struct findings *f)
{
	return memchr(f->are_read, false, f->look->census.tasks.nr);
}

static bool has_by_guards(const struct stuck_list *found)
{
	vec_each (s, &found->all)
		if (ties_is_by_guards(s))
			return true;
	return false;
}

static bool is_among(const struct stuck_list *found, const struct stuck *s)
{
	vec_each (x, &found->all)
		if (ties_is_same(x, s))
			return true;
	return false;
}

/* Tasks are read one after the other, so what was seen may never have been true at one moment. */
static void look_again(struct findings *f)
{
	const struct census *c = &f->look->census;
	struct again again = { .findings = f };
	size_t kept = 0;

	nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	ties_init(&again.ties, c);
	walk_tasks(c, &(struct walk_opts){ .ties = true }, add_again, &again);
	ties_settle(&again.ties);
	ties_find_cycles(&again.ties, &again.found);
	vec_each (s, &f->found.all) {
		if (!ties_is_by_guards(s) || is_among(&again.found, s))
			f->found.all.v[kept++] = *s;
		else
			vec_release(&s->tasks);
	}
	f->found.all.nr = kept;
	stuck_release(&again.found);
	ties_release(&again.ties);
}

/* A guard may have been moved away, and a task that could not be read may have the lock now. */
static void drop_doubtful(struct findings *f)
{
	size_t kept = 0;

	vec_each (s, &f->found.all) {
		if (!ties_is_by_guards(s)) {
			f->found.all.v[kept++] = *s;
			continue;
		}
		vec_release(&s->tasks);
		f->nr_doubtful++;
	}
	f->found.all.nr = kept;
}

static void confirm(struct findings *f)
{
	bool is_live = f->look->memory->pid;

	for (unsigned i = 0; is_live && i < NR_AGAIN && has_by_guards(&f->found); i++)
		if (i == 0 || has_unread(f))
			look_again(f);
	if (has_unread(f))
		drop_doubtful(f);
}

static bool has_wanted(const struct findings *f, const struct stuck *s)
{
	vec_each (t, &s->tasks)
		if (f->are_wanted[t->wants->task])
			return true;
	return false;
}

/* Of many tasks that have the same fault, each by itself, those that fit. */
static void keep_wanted(const struct findings *f, struct stuck *s)
{
	size_t kept = 0;

	vec_each (t, &s->tasks)
		if (f->are_wanted[t->wants->task])
			s->tasks.v[kept++] = *t;
	s->tasks.nr = kept;
}

void findings_conclude(struct findings *f)
{
	struct stuck_list *found = &f->found;
	size_t kept = 0;

	ties_settle(&f->ties);
	ties_find_cycles(&f->ties, found);
	confirm(f);
	ties_find_without_waker(&f->ties, found);
	vec_each (s, &found->all) {
		if (!has_wanted(f, s)) {
			vec_release(&s->tasks);
			f->nr_left_out++;
			continue;
		}
		if (!ties_is_cycle(s))
			keep_wanted(f, s);
		found->all.v[kept++] = *s;
	}
	found->all.nr = kept;
}

void findings_notes(const struct findings *f)
{
	if (f->nr_left_out)
		cmd_note("%u finding%s of tasks that do not fit '%s' %s left out", f->nr_left_out,
			 plural(f->nr_left_out), f->filter, f->nr_left_out == 1 ? "is" : "are");
	if (f->nr_doubtful)
		cmd_note("%u finding%s about locks %s left out: a task could not be read, and may "
			 "have them; look again",
			 f->nr_doubtful, plural(f->nr_doubtful),
			 f->nr_doubtful == 1 ? "is" : "are");
}

void findings_count(const struct look *l, struct map *counts)
{
	vec_each (t, &l->census.tasks)
		++*map_put(counts, l->census.tables.v[t->table].addr, NULL);
}

static int by_growth(const void *a, const void *b)
{
	const struct growth *x = a, *y = b;
	uint64_t more_x = x->after - x->before, more_y = y->after - y->before;

	return more_x > more_y ? -1 : more_x < more_y;
}

void findings_compare(struct findings *f, const struct map *before)
{
	const struct census *c = &f->look->census;
	const struct tree none = { 0 };
	struct map now = MAP_INIT;

	findings_count(f->look, &now);
	for (uint32_t i = 0; i < c->tables.nr; i++) {
		const struct census_table *t = &c->tables.v[i];
		const uint64_t *was = map_get(before, t->addr), *is = map_get(&now, t->addr);
		struct growth g = { i, was ? *was : 0, is ? *is : 0 };
		struct layouts *layouts = c->objects->list.v[t->object].layouts;
		struct task_place place;

		if (g.after < g.before + MAX((uint64_t)MIN_GROWTH, g.before / 10))
			continue;
		if (!look_fits(f->look, f->filter, &(struct census_task){ .table = i }, &none)) {
			f->nr_left_out++;
			continue;
		}
		if (layouts && t->shape && t->shape->locate(layouts, t->found, &place))
			g.task_bytes = place.task_bytes;
		vec_push(&f->growth, g);
	}
	if (f->growth.nr)
		qsort(f->growth.v, f->growth.nr, sizeof(*f->growth.v), by_growth);
	map_release(&now);
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
