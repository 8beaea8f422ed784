// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/look.h"

#include <string.h>
#include <unistd.h>

#include "base/candidates.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/io.h"
#include "base/pattern.h"
#include "walk/roots.h"

static int take_pid(int nr, char **argv, uint32_t *pid)
{
	if (nr != 1)
		return cmd_usage("give one process id, or --core=FILE");
	if (parse_pid(argv[0], pid))
		return cmd_usage("'%s' is no process id", argv[0]);
	return EXIT_OK;
}

/* Many kernels are built without that guard, and then there is nothing to set. */
static bool is_guarded_by_yama(void)
{
	struct strbuf scope = STRBUF_INIT;
	bool is_guarded = !io_read_file("/proc/sys/kernel/yama/ptrace_scope", &scope, 16, NULL) &&
			  scope.len && scope.s[0] != '0';

	strbuf_release(&scope);
	return is_guarded;
}

static int no_process(const struct err *why)
{
	struct err e = ERR_INIT;

	if (why->tag != ERR_PERMISSION || !geteuid() || !is_guarded_by_yama())
		return cmd_fail(why);
	err_set(&e, why->tag, "%s; if that does not help, set kernel.yama.ptrace_scope to 0",
		why->msg);
	return cmd_fail(&e);
}

static int no_runtime(const struct look *l)
{
	struct err e = ERR_INIT;

	if (l->objects.lacks_program || l->objects.nr_other)
		return cmd_fail(&l->objects.note);
	err_set(&e, ERR_NOT_ASYNC,
		"no async runtime that futrace knows is in %s: there are no tasks to show",
		*l->memory->exe ? l->memory->exe : "it");
	return cmd_fail(&e);
}

static int check_usage(const struct look_opts *o, int nr)
{
	if (o->core && nr)
		return cmd_usage("give a process id or --core, not both");
	if (o->exe && !o->core)
		return cmd_usage("--exe is for --core: a process tells itself what it runs");
	return EXIT_OK;
}

int look_open(struct look *l, const struct look_opts *o, int nr, char **argv)
{
	struct err e = ERR_INIT;
	uint32_t pid = 0;
	char *cache;
	int rc;

	*l = (struct look){ 0 };
	rc = check_usage(o, nr);
	if (!rc && !o->core)
		rc = take_pid(nr, argv, &pid);
	if (rc)
		return rc;
	peers_init(&l->peers, pid);
	l->memory = o->core ? memory_open_core(o->core, o->exe, &e) : memory_open_process(pid, &e);
	if (!l->memory)
		return o->core ? cmd_fail(&e) : no_process(&e);
	cache = o->no_cache ? NULL : cmd_cache_dir();
	objects_init(&l->objects, l->memory, cache);
	free(cache);
	if (o->exe && l->objects.lacks_program)
		rc = cmd_fail(&l->objects.note); /* whoever names it wants no less */
	else if (!l->objects.list.nr)
		rc = look_check(l) ? EXIT_FAILED : no_runtime(l);
	if (!rc) {
		census_init(&l->census, l->memory, &l->objects);
		objects_open_layouts(&l->objects);
		roots_find(&l->census);
	}
	return rc ? rc : look_check(l);
}

int look_check(struct look *l)
{
	struct err e = ERR_INIT;

	if (memory_is_there(l->memory))
		return EXIT_OK;
	err_set(&e, ERR_NO_PROCESS,
		"process %u ended, or began another program, while it was looked at",
		l->memory->pid);
	return cmd_fail(&e);
}

void look_close(struct look *l)
{
	peers_release(&l->peers);
	census_release(&l->census);
	objects_release(&l->objects);
	memory_close(l->memory);
}

void look_notes(const struct look *l)
{
	char bytes[FORMAT_SIZE];

	vec_each (tid, &l->census.rootless)
		cmd_note("thread %u waits in block_on, but its future was not found", *tid);
	if (l->memory->nr_missing_bytes)
		cmd_note("the core file was cut: %s of memory are missing, and with them tasks",
			 format_bytes(l->memory->nr_missing_bytes, bytes));
	if (l->objects.nr_other)
		cmd_note("%s: its tasks are not shown", l->objects.note.msg);
	else if (l->objects.nr_unreadable)
		cmd_note("%u mapped file%s could not be looked at: %s", l->objects.nr_unreadable,
			 plural(l->objects.nr_unreadable), l->objects.note.msg);
	vec_each (o, &l->objects.list) {
		if (!o->layouts && o->d->nr_tables)
			cmd_note("%s: where its tasks wait is not known: %s", o->d->path,
				 o->why_no_layouts);
		else if (o->why_no_layouts && *o->why_no_layouts)
			cmd_note("%s: %s", o->d->path, o->why_no_layouts);
		for (uint32_t i = 0; i < o->d->nr_runtimes; i++)
			if (o->d->runtimes[i].nr_refused)
				cmd_note("%s in %s: %s", o->d->runtimes[i].name, o->d->path,
					 o->d->runtimes[i].note);
	}
}

void look_note_none(const struct look *l, const char *filter)
{
	uint32_t nr = 0;

	vec_each (t, &l->memory->threads)
		nr += !t->sp;
	if (filter)
		cmd_note("no live task fits '%s'", filter);
	else if (nr)
		cmd_note("no task is alive; but %u thread%s, and what a thread that runs has in "
			 "block_on is not seen",
			 nr, nr == 1 ? " runs" : "s run");
	else
		cmd_note("no task is alive");
}

const char *look_state_name(enum task_state state)
{
	static const char *const names[] = {
		[TASK_NONE] = "gone",		[TASK_OVER] = "over",	    [TASK_IDLE] = "idle",
		[TASK_SCHEDULED] = "scheduled", [TASK_RUNNING] = "running",
	};

	return names[state];
}

const struct found_table *look_table(const struct look *l, const struct census_task *t)
{
	return l->census.tables.v[t->table].found;
}

static const struct object *object_of(const struct look *l, const struct census_task *t)
{
	return &l->objects.list.v[l->census.tables.v[t->table].object];
}

const struct found_runtime *look_runtime(const struct look *l, const struct census_task *t)
{
	return &object_of(l, t)->d->runtimes[look_table(l, t)->runtime];
}

bool look_has_layouts(const struct look *l, const struct census_task *t)
{
	return object_of(l, t)->layouts;
}

uint32_t look_runtime_id(const struct look *l, const struct census_task *t)
{
	uint32_t id = look_table(l, t)->runtime;

	for (uint32_t i = 0; i < l->census.tables.v[t->table].object; i++)
		id += l->objects.list.v[i].d->nr_runtimes;
	return id;
}

static bool is_root(const struct census *c, const struct census_task *t)
{
	return c->tables.v[t->table].found->kind == TRACE_BLOCK_ON;
}

bool look_is_guess(const struct look *l, const struct census_task *t)
{
	return is_root(&l->census, t);
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

bool look_is_boxed(const struct look *l, const struct census_task *t)
{
	return str_has_prefix(look_table(l, t)->name, "dyn ");
}

void look_add_type(const struct look *l, const struct census_task *t, struct strbuf *out)
{
	const struct found_table *table = look_table(l, t);

	if (*table->name)
		label_candidates(out, table->name, table->nr_candidates);
	else
		strbuf_addf(out, "table 0x%llx", (unsigned long long)table->plan.va);
}

bool look_fits(const struct look *l, const char *pattern, const struct census_task *t,
	       const struct tree *tree)
{
	if (!pattern || pattern_fits_part(pattern, look_table(l, t)->name))
		return true;
	vec_each (n, &tree->nodes)
		if (pattern_fits_part(pattern, n->type->name) ||
		    (tree_is_generated(n) && pattern_fits_part(pattern, n->type->function)) ||
		    (tree_has_place(n) && pattern_fits_part(pattern, n->variant->file)))
			return true;
	return false;
}

uint64_t look_now(const struct look *l)
{
	return l->memory->is_core ? 0 : clock_mono_ns();
}
