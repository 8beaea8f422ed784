// SPDX-License-Identifier: MIT OR Apache-2.0
/* Runs in a worker: whatever is wrong with the file must not be the recording's end. */
#include "future/reading.h"

#include <stdio.h>
#include <sys/stat.h>

#include "future/reading_priv.h"
#include "future/root_frames.h"
#include "symbol/debug_file.h"

#define VERSION	    5			 /* of how readings are made and packed */
#define LARGE_BYTES (UINT64_C(64) << 20) /* a debug file that a reader's least limits are for */

/* Only of a table that is sure to be of one type: reading it as another would be the end of the
 * program. */
static bool is_sure(const struct found_table *t)
{
	return wire_is_task_table(t->plan.kind) && t->nr_candidates == 1;
}

static void follow_tables(struct reading *r, struct recipe_book *b, struct layouts *l)
{
	for (uint32_t i = 0; i < r->d->nr_tables; i++) {
		struct found_table *t = &r->d->tables[i];
		const struct task_shape *shape = task_shape(r->d, t);
		struct task_place place;

		if (!is_sure(t))
			continue;
		if (t->kind <= TRACE_LOCAL && shape->locate(l, t, &place))
			t->plan.recipe = recipe_compile(b, &place);
		if (t->kind == TRACE_TASK && shape->local_off)
			t->plan.local_off = shape->local_off(l, t);
	}
}

static uint32_t root_local_off(struct layouts *l, const struct discovery *d)
{
	const struct task_shape *shape =
		d->roots.nr_redirects ? task_shape_of(&d->runtimes[d->roots.runtime]) : NULL;

	return shape && shape->local_off ? shape->local_off(l, NULL) : 0;
}

/* One that was met before has its number. */
static uint32_t root_type(struct reading *r, const struct root_frame *all,
			  const struct root_frame *f, struct layouts *l)
{
	const struct layout *t = layouts_get(l, f->future);
	bool is_generated = t->kind == LAYOUT_COROUTINE;
	char *name;

	if (f->future == LAYOUT_NONE)
		return RECIPE_NO_TYPE;
	for (size_t i = 0; &all[i] < f; i++)
		if (all[i].future == f->future && all[i].runtime == f->runtime)
			return r->roots.v[i].type;
	name = root_future_name(t);
	vec_push(&r->root_types,
		 (struct reading_root_type){
			 .runtime = f->runtime,
			 .name = intern_get(r->strings, intern_puts(r->strings, name)),
			 .file = is_generated ? t->file : "",
			 .line = is_generated ? t->first_line : 0,
			 .size_bytes = t->size_bytes });
	free(name);
	return r->root_types.nr - 1;
}

static void follow_roots(struct reading *r, struct recipe_book *b, struct layouts *l,
			 const char *path)
{
	struct root_frame found[WIRE_MAX_FRAMED];
	uint32_t nr = root_frames_find(b, l, r->d, path, 0, found, WIRE_MAX_FRAMED);

	for (uint32_t i = 0; i < nr; i++) {
		struct reading_root root = { found[i].plan, found[i].runtime, 0 };

		root.type = root_type(r, found, &found[i], l);
		vec_push(&r->roots, root);
	}
}

/* The layouts, whose strings it has; NULL: there are none. */
static struct layouts *follow(struct reading *r, const char *path, const char *cache_dir)
{
	const char *why, *debug_path = r->d->debug_path;
	struct layouts *l = layouts_open(*debug_path ? debug_path : path, cache_dir, &why);
	struct recipe_book *b;

	if (!l)
		return NULL;
	recipes_init(&r->recipes);
	b = recipes_add(&r->recipes, l, 0);
	follow_tables(r, b, l);
	r->root_local_off = root_local_off(l, r->d);
	follow_roots(r, b, l, path);
	recipes_describe(&r->recipes);
	return l;
}

/* Files with debug info that are not there may be there the next time. */
static void note_needs(struct reading *r, const char *path)
{
	struct image *img = image_open(path, NULL, NULL);
	size_t nr = 0;
	char **all;

	if (!img)
		return;
	if (!image_section(img, ".debug_info")) {
		all = debug_file_candidates(img, path, &nr);
		for (size_t i = 0; i < nr; i++) {
			struct reading_need need = {
				.path = intern_get(r->strings, intern_puts(r->strings, all[i]))
			};

			fingerprint_file(all[i], &need.was);
			vec_push(&r->needs, need);
			free(all[i]);
		}
		free(all);
	}
	image_close(img);
}

/* The large debug file that will be read, unless the caller knows of it. */
static char *find_unknown(const char *path, const struct reading_opts *o)
{
	struct image *img = NULL;
	char *found = NULL;
	struct stat st;

	if (!o->debug_path && o->discover.depth != DISCOVER_TABLES)
		img = image_open(path, NULL, NULL);
	if (img && !image_section(img, ".debug_info"))
		found = debug_file_find(img, path, NULL);
	if (found && (stat(found, &st) || (uint64_t)st.st_size <= LARGE_BYTES)) {
		free(found);
		found = NULL;
	}
	image_close(img);
	return found;
}

void reading_make(const char *path, const char *shown_path, const struct reading_opts *o,
		  struct strbuf *answer)
{
	struct reading r = { .strings = intern_new() };
	struct layouts *l = NULL;
	struct err e = ERR_INIT;
	char *unknown = find_unknown(path, o);

	if (unknown) {
		reading_pack_wanted(answer, unknown);
		free(unknown);
		intern_free(r.strings);
		return;
	}
	r.d = discover_file(path, shown_path, &o->discover, &e);
	if (!r.d) {
		reading_pack_error(answer, &e);
		intern_free(r.strings);
		return;
	}
	if (o->awaits && o->discover.depth == DISCOVER_ALL &&
	    (r.d->nr_tables || r.d->roots.nr_parks))
		l = follow(&r, path, o->discover.cache_dir);
	note_needs(&r, path);
	reading_pack(answer, &r);
	recipes_release(&r.recipes);
	layouts_close(l);
	vec_release(&r.roots);
	vec_release(&r.root_types);
	vec_release(&r.needs);
	discovery_free(r.d);
	intern_free(r.strings);
}

char *reading_key(const struct fingerprint *f, const struct reading_opts *o)
{
	const struct futures_wanted *w = o->discover.futures;
	struct strbuf key = STRBUF_INIT;

	strbuf_addf(&key, "reading %d " FUTRACE_VERSION " %llx %llx %d%d%d", VERSION,
		    (unsigned long long)f->size_bytes, (unsigned long long)f->hash, o->awaits,
		    o->discover.names, o->discover.allocator);
	if (w)
		strbuf_addf(&key, " futures %d %s", w->only_generated,
			    w->patterns ? w->patterns : "-");
	return strbuf_take(&key);
}

bool reading_is_fresh(const struct reading *r)
{
	vec_each (n, &r->needs) {
		struct fingerprint now;

		fingerprint_file(n->path, &now);
		if (now.size_bytes != n->was.size_bytes || now.hash != n->was.hash)
			return false;
	}
	return true;
}

void reading_free(struct reading *r)
{
	if (!r)
		return;
	discovery_free(r->d);
	recipes_release(&r->recipes);
	vec_release(&r->roots);
	vec_release(&r->root_types);
	vec_release(&r->needs);
	intern_free(r->strings);
	free(r->data);
	free(r);
}
