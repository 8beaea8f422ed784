// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/catalog.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/intern.h"
#include "symbol/cache.h"
#include "symbol/reader.h"

#define MAX_BYTES (UINT64_C(64) << 20) /* of the cache */

struct catalog_entry {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	struct reading *reading; /* NULL: e says why */
	struct err e;
};

void catalog_init(struct catalog *c, const struct reading_opts *opts)
{
	*c = (struct catalog){ .opts = *opts };
}

void catalog_release(struct catalog *c)
{
	vec_each (x, &c->entries)
		reading_free(x->reading);
	vec_release(&c->entries);
}

static bool is_same(const struct catalog_entry *x, const struct stat *st)
{
	return x->dev == st->st_dev && x->ino == st->st_ino && x->size == st->st_size &&
	       x->mtime.tv_sec == st->st_mtim.tv_sec && x->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

/* ---- the cache ---- */

static char *key_of(const struct catalog *c, const char *path)
{
	const char *dir = c->opts.discover.cache_dir;
	struct fingerprint f;

	return dir && *dir && fingerprint_file(path, &f) ? reading_key(&f, &c->opts) : NULL;
}

static struct reading *recall(const struct catalog *c, const char *key)
{
	struct strbuf data = STRBUF_INIT;
	struct reading *r = NULL;

	if (key && cache_get(c->opts.discover.cache_dir, key, &data))
		r = reading_unpack(&data, NULL);
	strbuf_release(&data);
	if (r && !reading_is_fresh(r)) {
		reading_free(r);
		r = NULL;
	}
	if (r)
		r->d->from_cache = true;
	return r;
}

/* ---- the workers ---- */

struct work {
	const char *path, *shown_path;
	struct reading_opts opts;
	char *debug_path; /* a large one, which readers asked for; NULL: none */
};

static void work(void *arg, struct strbuf *answer)
{
	const struct work *w = arg;

	reading_make(w->path, w->shown_path, &w->opts, answer);
}

/* A reader that finds a large debug file asks for it, and the next one has the limits for it. */
static enum worker_end run(struct reader *reader, struct work *w, struct strbuf *answer,
			   char why[WORKER_WHY])
{
	enum worker_end end;

	reader->debug_path = w->debug_path;
	end = reader_run(reader, answer, why, NULL);
	if (end == WORKER_DONE && !w->debug_path && (w->debug_path = reading_wanted(answer))) {
		strbuf_reset(answer);
		reader->debug_path = w->opts.debug_path = w->debug_path;
		end = reader_run(reader, answer, why, NULL);
	}
	return end;
}

/* NULL without e: the worker was not up to it, and `why` says what became of it. */
static struct reading *read_to(const struct catalog *c, struct work *w, const char *key,
			       char why[WORKER_WHY], struct err *e)
{
	static const char *const stages[] = { "full", "symbols", "tables" };
	const char *dir = c->opts.discover.cache_dir;
	struct reader reader = { .stage = stages[w->opts.discover.depth],
				 .path = w->path,
				 .cache_dir = dir,
				 .run = work,
				 .arg = w,
				 .is_part = w->opts.discover.depth != DISCOVER_ALL,
				 .meanwhile = &c->meanwhile };
	struct strbuf answer = STRBUF_INIT, copy = STRBUF_INIT;
	struct reading *r = NULL;

	if (run(&reader, w, &answer, why) == WORKER_DONE) {
		snprintf(why, WORKER_WHY, "gave a broken answer");
		strbuf_add(&copy, answer.s, answer.len);
		r = reading_unpack(&answer, e);
		/* without a build-id nothing tells a file from its next build for sure */
		if (r && key && *r->d->build_id && w->opts.discover.depth == DISCOVER_ALL &&
		    !r->d->is_debug_info_unusable)
			cache_put(dir, key, copy.s, copy.len, MAX_BYTES);
	}
	strbuf_release(&answer);
	strbuf_release(&copy);
	return r;
}

void catalog_note(const struct catalog *c, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	if (c->note)
		c->note(c->note_arg, text);
	free(text);
}

static void tell(const struct catalog *c, const char *shown_path, enum discover_depth depth,
		 const char *why)
{
	if (depth == DISCOVER_SYMBOLS)
		catalog_note(
			c,
			"debug info of %s could not be read (its reader %s): types are named by "
			"symbols, await points are not recorded",
			shown_path, why);
	else if (depth == DISCOVER_TABLES)
		catalog_note(c,
			     "symbols and debug info of %s could not be read (their reader %s): "
			     "types by number",
			     shown_path, why);
	else
		catalog_note(c, "%s could not be read (its reader %s): its tasks are not recorded",
			     shown_path, why);
}

/* Of a library without tasks nobody misses anything. */
static bool is_of_use(const struct discovery *d)
{
	return d->nr_runtimes || d->marks.nr;
}

static void read_file(struct catalog *c, const char *path, const char *shown_path,
		      struct catalog_entry *x)
{
	struct work w = { path, shown_path, c->opts, NULL };
	char *key = key_of(c, path), why[WORKER_WHY], first[WORKER_WHY] = "";
	enum discover_depth depth = DISCOVER_ALL;

	x->reading = recall(c, key);
	while (!x->reading && depth < NR_DISCOVER_DEPTHS) {
		w.opts.discover.depth = depth;
		x->reading = read_to(c, &w, key, why, &x->e);
		if (x->reading || x->e.tag != ERR_NONE)
			break;
		if (depth++ == DISCOVER_ALL)
			snprintf(first, sizeof(first), "%s", why);
	}
	if (*first && x->e.tag == ERR_NONE && (!x->reading || is_of_use(x->reading->d)))
		tell(c, shown_path, depth, first);
	if (!x->reading && x->e.tag == ERR_NONE)
		err_set(&x->e, ERR_BAD_ELF, "its reader %s", first);
	if (x->reading) {
		x->reading->depth = depth;
		x->reading->d->path = intern_get(x->reading->strings,
						 intern_puts(x->reading->strings, shown_path));
	}
	free(w.debug_path);
	free(key);
}

const struct reading *catalog_get(struct catalog *c, const char *path, const char *shown_path,
				  struct err *e)
{
	struct catalog_entry new = { 0 };
	struct stat st;

	if (stat(path, &st)) {
		err_sys(e, "cannot look at %s", shown_path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_NOT_ELF, "%s is not a regular file", shown_path);
		return NULL;
	}
	vec_each (x, &c->entries) {
		if (!is_same(x, &st))
			continue;
		if (!x->reading && e)
			*e = x->e;
		return x->reading;
	}
	new = (struct catalog_entry){ st.st_dev, st.st_ino, st.st_size, st.st_mtim };
	read_file(c, path, shown_path, &new);
	vec_push(&c->entries, new);
	if (!new.reading && e)
		*e = new.e;
	return new.reading;
}
