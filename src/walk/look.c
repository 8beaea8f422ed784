// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/look.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/pattern.h"
#include "walk/roots.h"

/* Many kernels are built without that guard, and then there is nothing to set. */
static bool is_guarded_by_yama(void)
{
	struct strbuf scope = STRBUF_INIT;
	bool is_guarded = !io_read_file("/proc/sys/kernel/yama/ptrace_scope", &scope, 16, NULL) &&
			  scope.len && scope.s[0] != '0';

	strbuf_release(&scope);
	return is_guarded;
}

/* Adds to the reason what can be done about it. */
static int no_process(struct err *e)
{
	struct err why = *e;

	if (why.tag != ERR_PERMISSION || !geteuid() || !is_guarded_by_yama())
		return -1;
	return err_set(e, why.tag, "%s; if that does not help, set kernel.yama.ptrace_scope to 0",
		       why.msg);
}

static int pass_on(const struct err *why, struct err *e)
{
	return err_set(e, why->tag, "%s", why->msg);
}

static int no_runtime(const struct look *l, struct err *e)
{
	if (l->objects.lacks_program || l->objects.nr_other)
		return pass_on(&l->objects.note, e);
	return err_set(e, ERR_NOT_ASYNC,
		       "no async runtime that futrace knows is in %s: there are no tasks to show",
		       *l->memory->exe ? l->memory->exe : "it");
}

int look_open(struct look *l, const struct look_opts *o, struct err *e)
{
	*l = (struct look){ 0 };
	peers_init(&l->peers, o->pid);
	l->memory = o->core ? memory_open_core(o->core, o->exe, e) : memory_open_process(o->pid, e);
	if (!l->memory)
		return o->core ? -1 : no_process(e);
	objects_init(&l->objects, l->memory, o->cache_dir);
	if (o->exe && l->objects.lacks_program)
		return pass_on(&l->objects.note, e); /* a program that was named has to be there */
	if (!l->objects.list.nr)
		return look_check(l, e) ? -1 : no_runtime(l, e);
	census_init(&l->census, l->memory, &l->objects);
	objects_open_layouts(&l->objects);
	roots_find(&l->census);
	return look_check(l, e);
}

int look_check(const struct look *l, struct err *e)
{
	if (memory_is_there(l->memory))
		return 0;
	return err_set(e, ERR_NO_PROCESS,
		       "process %u ended, or began another program, while it was read",
		       l->memory->pid);
}

void look_close(struct look *l)
{
	peers_release(&l->peers);
	census_release(&l->census);
	objects_release(&l->objects);
	memory_close(l->memory);
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

bool look_is_guess(const struct look *l, const struct census_task *t)
{
	return look_table(l, t)->kind == TRACE_BLOCK_ON;
}

bool look_is_boxed(const struct look *l, const struct census_task *t)
{
	return str_has_prefix(look_table(l, t)->name, "dyn ");
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
