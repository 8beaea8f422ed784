// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/objects.h"

#include <string.h>

#include "symbol/debug_file.h"
#include "symbol/image.h"

/* The words of a table that the agent does not replace, if there is one in the process. */
static bool is_replaced(const struct wire_table *t, unsigned word)
{
	return word == t->slot_poll || word == t->slot_schedule || word == t->slot_dealloc ||
	       word == t->slot_shutdown || word == t->slot_abort ||
	       (word == t->slot_detach && t->slot_detach);
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

/* Is the address in memory what the file has at that offset? */
static bool is_mapped(const struct memory *m, const char *path, uint64_t addr, uint64_t off)
{
	vec_each (f, &m->files)
		if (f->addr <= addr && addr < f->end_addr)
			return strcmp(f->path, path) == 0 && f->off + (addr - f->addr) == off;
	return false;
}

/* Were parts of that size mapped to where the file has them? */
static bool is_mapped_alike(const struct memory *m, const struct memory_file *f,
			    const struct object *x)
{
	struct image *img = image_open(x->open_path, NULL, NULL);
	bool is_alike = img;

	for (uint32_t i = 0; is_alike && i < img->nr_segments; i++) {
		const struct image_segment *s = &img->segments[i];
		uint64_t first = s->off, last = s->off + s->file_bytes - 1;

		is_alike = !s->file_bytes ||
			   (is_mapped(m, f->path, x->base + s->va, first) &&
			    is_mapped(m, f->path, x->base + s->va + (last - first), last));
	}
	image_close(img);
	return is_alike;
}

/*
 * Why a file is not what was loaded, of which a core file has little more than the name: the
 * build-id tells; where there is none, where parts of the file lay. NULL: nothing speaks against
 * it.
 */
static char *what_differs(struct memory *m, const struct memory_file *f, const struct object *x)
{
	char loaded[MEMORY_BUILD_ID_SIZE];
	bool is_known = memory_build_id(m, f->addr, loaded);

	if (is_known && strcmp(loaded, x->d->build_id) != 0)
		return xasprintf("it is another build, its build-id is %s and not %s",
				 *x->d->build_id ? x->d->build_id : "missing",
				 *loaded ? loaded : "missing");
	if (!x->d->nr_runtimes && debug_file_is_one(x->open_path))
		return xstrdup("it has debug info alone, and belongs beside the program");
	if (!(is_known && *loaded) && !is_mapped_alike(m, f, x))
		return xstrdup("it is another build, with parts of other sizes");
	return NULL;
}

static bool fits(struct memory *m, const struct memory_file *f, const struct object *x,
		 struct err *e)
{
	char *differs = m->is_core ? what_differs(m, f, x) : NULL;

	if (!differs && !objects_match(m, x->base, x->d))
		differs = xstrdup("it is another build, with other tasks");
	if (!differs)
		return true;
	err_set(e, ERR_BAD_ELF, "%s is not what was loaded: %s%s", x->d->path, differs,
		m->is_core && memory_is_program(m, f) && !m->exe_file
			? "; name the right one by --exe=FILE"
			: "");
	free(differs);
	return false;
}

static void look_at(struct objects *o, struct memory *m, const struct memory_file *f)
{
	struct discover_opts opts = { .cache_dir = o->cache_dir, .names = true };
	bool is_program = memory_is_program(m, f);
	struct err e = ERR_INIT;
	struct object object = { .open_path = memory_path_of(m, f, &e) };

	if (object.open_path)
		object.d =
			discover_file(object.open_path,
				      is_program && m->exe_file ? m->exe_file : f->path, &opts, &e);
	if (object.d)
		object.base = object.d->is_pie ? f->addr : 0;
	if (!object.d) {
		if (e.tag != ERR_NOT_ELF || is_program)
			note(o, &o->nr_unreadable, &e, is_program);
	} else if (!object.d->nr_runtimes && !is_program) {
		o->nr_without++; /* nor is it of any interest which build it is */
	} else if (!fits(m, f, &object, &e)) {
		note(o, &o->nr_other, &e, is_program);
	} else if (!object.d->nr_runtimes) {
		o->nr_without++;
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
			if (memory_is_program(m, f) == of_program && memory_is_object(m, f))
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
