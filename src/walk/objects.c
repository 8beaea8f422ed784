// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/objects.h"

#include <string.h>

/* The words of a table that the agent does not replace, if there is one in the process. */
static bool is_replaced(const struct wire_table *t, unsigned word)
{
	return word == t->slot_poll || word == t->slot_schedule || word == t->slot_dealloc ||
	       word == t->slot_shutdown || word == t->slot_abort;
}

static bool is_in_memory(struct memory *m, uint64_t base, const struct wire_table *t)
{
	uint64_t words[WIRE_TABLE_WORDS];

	if (!memory_read(m, base + t->va, words, t->nr_words * sizeof(*words)))
		return false;
	for (unsigned i = 0; i < t->nr_words; i++) {
		uint64_t expected = t->words[i] + (t->code_mask & 1u << i ? base : 0);

		if (words[i] != expected && !is_replaced(t, i))
			return false;
	}
	return true;
}

/* One table that does not speaks against all. */
bool objects_match(struct memory *m, uint64_t base, const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (wire_is_task_table(d->tables[i].plan.kind) &&
		    !is_in_memory(m, base, &d->tables[i].plan))
			return false;
	return true;
}

static void note(struct objects *o, uint32_t *count, const struct err *e, bool is_program)
{
	if (o->note.tag == ERR_NONE)
		o->note = *e;
	o->lacks_program = o->lacks_program || is_program;
	++*count;
}

static void look_at(struct objects *o, struct memory *m, const struct memory_file *f)
{
	struct discover_opts opts = { .cache_dir = o->cache_dir, .names = true };
	bool is_program = strcmp(f->path, m->exe) == 0;
	struct err e = ERR_INIT;
	struct object object = { .open_path = memory_path_of(m, f, &e) };

	if (object.open_path)
		object.d = discover_file(object.open_path, f->path, &opts, &e);
	if (object.d)
		object.base = object.d->is_pie ? f->addr : 0;
	if (!object.d) {
		if (e.tag != ERR_NOT_ELF || is_program)
			note(o, &o->nr_unreadable, &e, is_program);
	} else if (!object.d->nr_runtimes) {
		o->nr_without++;
	} else if (!objects_match(m, object.base, object.d)) {
		err_set(&e, ERR_BAD_ELF, "%s is another build than the one that was loaded",
			f->path);
		note(o, &o->nr_other, &e, is_program);
	} else {
		vec_push(&o->list, object);
		return;
	}
	discovery_free(object.d);
	free(object.open_path);
}

void objects_init(struct objects *o, struct memory *m, const char *cache_dir)
{
	*o = (struct objects){ .cache_dir = cache_dir ? xstrdup(cache_dir) : NULL };
	for (int of_program = 1; of_program >= 0; of_program--)
		vec_each (f, &m->files)
			if ((strcmp(f->path, m->exe) == 0) == of_program && memory_is_object(m, f))
				look_at(o, m, f);
}

void objects_open_layouts(struct objects *o)
{
	vec_each (x, &o->list)
		if (!x->layouts && !x->why_no_layouts)
			x->layouts = layouts_open(x->open_path, o->cache_dir, &x->why_no_layouts);
}

void objects_release(struct objects *o)
{
	vec_each (x, &o->list) {
		layouts_close(x->layouts);
		discovery_free(x->d);
		free(x->open_path);
	}
	vec_release(&o->list);
	free(o->cache_dir);
}
