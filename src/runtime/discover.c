// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Asks every runtime for what it recognises in a file, and says on which rung of the ladder the
 * file stands.
 */
#include "runtime/discover_priv.h"

#include <string.h>

#include "base/clock.h"
#include "runtime/names.h"
#include "runtime/remember.h"
#include "runtime/runtime.h"
#include "runtime/task.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/extent.h"

/* The file, and the one that its symbols and debug info are in (the same, another, or none). */
struct files {
	struct image *img, *debug;
	char *debug_path;
	const char *path;
	const char *dwarf_note; /* why debug info that is there cannot be read, or "" */
};

#define NOT_READ "its debug info could not be read"

static const struct image *image_with(const struct files *fs, const char *section)
{
	if (image_section(fs->img, section))
		return fs->img;
	return fs->debug && image_section(fs->debug, section) ? fs->debug : NULL;
}

/* What is deeper than wanted is not there. */
static void forget(struct files *fs, enum discover_depth depth)
{
	if (depth == DISCOVER_ALL)
		return;
	if (image_with(fs, ".debug_info"))
		fs->dwarf_note = NOT_READ;
	image_forget(fs->img, depth == DISCOVER_TABLES);
	if (fs->debug)
		image_forget(fs->debug, depth == DISCOVER_TABLES);
}

static int files_open(struct files *fs, const char *path, const char *shown,
		      enum discover_depth depth, struct err *e)
{
	bool is_other = false;

	*fs = (struct files){ .path = path, .dwarf_note = "" };
	fs->img = image_open(path, shown, e);
	if (!fs->img)
		return -1;
	if (!image_section(fs->img, ".debug_info") && depth != DISCOVER_TABLES)
		fs->debug_path = debug_file_find(fs->img, path, &is_other);
	if (is_other)
		fs->dwarf_note = DEBUG_FILE_OTHER;
	if (fs->debug_path)
		fs->debug = image_open(fs->debug_path, NULL, NULL);
	forget(fs, depth);
	return 0;
}

static void files_close(struct files *fs)
{
	image_close(fs->img);
	image_close(fs->debug);
	free(fs->debug_path);
}

/* By symbols alone nobody knows what else was merged with what has a name. */
static void doubt_names(struct finding *f)
{
	vec_each (t, &f->tables)
		if (t->nr_candidates == 1)
			t->nr_candidates = 0;
}

/* Rust's own library may be mangled in another way than the program. */
static const char *mangling(const struct finding *f)
{
	for (size_t i = 0; i < f->tables.nr; i++) {
		const struct wire_table *w = &f->tables.v[i].plan;
		const struct symbol *s = wire_is_task_table(w->kind)
						 ? symtab_at(f->syms, w->words[w->slot_poll], NULL)
						 : NULL;

		if (s)
			return demangle_is_v0(s->name) ? "v0" : "legacy";
	}
	return "";
}

static void give_names(struct finding *f, struct files *fs)
{
	const struct image *with_dwarf = image_with(fs, ".debug_info");

	if (!with_dwarf)
		with_dwarf = image_with(fs, DWARF_OLD_PACKED); /* to be told why not */
	finding_symbols(f);
	if (with_dwarf)
		f->dwarf = dwarf_open(with_dwarf == fs->img ? fs->path : fs->debug_path,
				      &fs->dwarf_note);
	for (size_t i = 0; runtimes[i]; i++)
		runtimes[i]->give_names(f);
	if (f->dwarf && !f->has_functions && dwarf_is_split(f->dwarf))
		fs->dwarf_note = DEBUG_FILE_SPLIT;
	f->mangling = mangling(f);
	if (!f->has_functions && names_may_be_lost(f->syms))
		doubt_names(f);
	if (f->dwarf && !f->tables.nr)
		f->has_types = dwarf_has_types(f->dwarf);
	dwarf_close(f->dwarf);
}

/* From the file itself, each time: a cache that is wrong would be worse than slow. */
static void find_roots(struct finding *f)
{
	f->roots.note = "";
	for (size_t i = 0; runtimes[i]; i++)
		if (runtimes[i]->find_roots)
			runtimes[i]->find_roots(f);
}

static void find_futures(struct finding *f, const struct files *fs, const struct futures_wanted *w)
{
	const struct image *with_dwarf = image_with(fs, ".debug_info");
	const char *why;
	struct dwarf *d;

	f->futures.note = "";
	if (!w || !f->tables.nr)
		return;
	d = with_dwarf ? dwarf_open(with_dwarf == fs->img ? fs->path : fs->debug_path, &why) : NULL;
	futures_find(f, d, w);
	dwarf_close(d);
}

static void climb(struct discovery *d, const struct finding *f, const struct files *fs)
{
	if (fs->dwarf_note[0]) {
		d->rung = image_with(fs, ".symtab") ? RUNG_SYMBOLS : RUNG_NOTHING;
		d->rung_note = fs->dwarf_note;
		d->is_debug_info_unusable = true;
	} else if (f->has_types) {
		d->rung = RUNG_FULL;
		d->rung_note = "";
	} else if (f->has_functions || (!f->was_named && image_with(fs, ".debug_info"))) {
		/*
		 * Rust's own library always brings line tables, which say nothing about the
		 * program.
		 */
		d->rung = RUNG_LINES;
		d->rung_note = "build with `debug = 2` to see where every future is defined";
	} else if (image_with(fs, ".symtab")) {
		d->rung = RUNG_SYMBOLS;
		d->rung_note = "build with `debug = \"line-tables-only\"` for exact type names, "
			       "with `debug = 2` also to see where futures are defined";
	} else {
		d->rung = RUNG_NOTHING;
		d->rung_note = "it is stripped: build with `strip = false` for type names, "
			       "with `debug = 2` for everything";
	}
}

static void recognise(struct finding *f)
{
	for (size_t i = 0, first = 0; runtimes[i]; i++, first = f->runtimes.nr) {
		runtimes[i]->recognise(f);
		for (size_t k = first; k < f->runtimes.nr; k++)
			f->runtimes.v[k].descriptor = i;
	}
}

static void judge(struct finding *f, struct discovery *d)
{
	vec_each (r, &f->runtimes)
		runtime_descriptor(r)->judge(f, d, r, r->facts);
}

static void fill(struct discovery *d, struct finding *f, const struct files *fs, const char *shown)
{
	d->path = finding_string(f, shown ? shown : fs->path);
	d->build_id = finding_string(f, fs->img->build_id);
	d->debug_path = fs->debug ? finding_string(f, fs->debug_path) : "";
	d->link = fs->img->link;
	d->is_pie = fs->img->is_dyn;
	d->mangling = f->mangling;
	d->nr_broken = fs->img->nr_broken;
	d->runtimes = f->runtimes.v;
	d->nr_runtimes = f->runtimes.nr;
	d->tables = f->tables.v;
	d->nr_tables = f->tables.nr;
	d->roots = f->roots;
	memcpy(d->allocs, f->allocs, sizeof(d->allocs));
	d->nr_allocs = f->nr_allocs;
	d->futures = f->futures;
	climb(d, f, fs);
}

struct discovery *discover_file(const char *path, const char *shown_path,
				const struct discover_opts *opts, struct err *e)
{
	uint64_t start_ns = clock_mono_ns();
	struct finding f = { 0 };
	struct files fs;
	struct owned *o;
	char *key;

	if (files_open(&fs, path, shown_path, opts->depth, e) < 0)
		return NULL;
	o = xcalloc(1, sizeof(*o));
	o->strings = f.strings = intern_new();
	f.img = fs.img;
	f.syms_img = image_with(&fs, ".symtab") ? image_with(&fs, ".symtab") : fs.img;
	f.mangling = "";
	recognise(&f);
	f.was_named = opts->names && f.tables.nr;
	key = opts->names && !opts->depth && opts->cache_dir && *opts->cache_dir && f.runtimes.nr
		      ? remember_key(fs.img, fs.debug)
		      : NULL;
	if (key && remember_get(opts->cache_dir, key, &f)) {
		o->d.from_cache = true;
	} else if (opts->names && f.runtimes.nr) {
		give_names(&f, &fs);
		if (key && !fs.dwarf_note[0])
			remember_put(opts->cache_dir, key, &f);
	}
	find_roots(&f);
	find_futures(&f, &fs, opts->futures);
	fill(&o->d, &f, &fs, shown_path);
	marks_find(fs.img, &o->d.marks);
	o->d.allocator = opts->allocator ? allocator_in(fs.img) : "";
	o->d.memory = opts->allocator ? allocator_memory(f.syms_img) : MEMORY_UNKNOWN;
	judge(&f, &o->d);
	symtab_free(f.syms);
	extents_free(f.extents);
	free(key);
	files_close(&fs);
	o->d.took_ns = clock_mono_ns() - start_ns;
	return &o->d;
}

const struct task_shape *task_shape_of(const struct found_runtime *r)
{
	const struct runtime *known = runtime_descriptor(r);

	return (known ? known : runtimes[0])->tasks;
}

const struct task_shape *task_shape(const struct discovery *d, const struct found_table *t)
{
	return t->runtime < d->nr_runtimes ? task_shape_of(&d->runtimes[t->runtime])
					   : runtimes[0]->tasks;
}

void discovery_free(struct discovery *d)
{
	struct owned *o = (struct owned *)d;

	if (!d)
		return;
	free(d->runtimes);
	free(d->tables);
	free(d->futures.v);
	intern_free(o->strings);
	free(o);
}
