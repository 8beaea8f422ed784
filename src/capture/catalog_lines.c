// SPDX-License-Identifier: MIT OR Apache-2.0
/* Lines of source, asked of a worker or remembered. */
#include <stdio.h>
#include <unistd.h>

#include "capture/catalog.h"
#include "symbol/cache.h"
#include "symbol/reader.h"

#define MAX_BYTES  (UINT64_C(64) << 20) /* of the cache */
#define MAX_POINTS 65536		/* that are remembered of a file */

struct work {
	char path[64];
	const char *debug_path;
	enum discover_depth depth;
	struct lines_request q;
};

static void work(void *arg, struct strbuf *answer)
{
	const struct work *w = arg;

	lines_make(w->path, w->debug_path, w->depth, &w->q, answer);
}

static char *key_of(const struct catalog *c, const struct reading *r, const char *path)
{
	const char *dir = c->opts.discover.cache_dir;
	struct fingerprint f, debug;

	if (!dir || !*dir || !*r->d->build_id || r->depth != DISCOVER_ALL ||
	    !fingerprint_file(path, &f))
		return NULL;
	fingerprint_file(*r->d->debug_path ? r->d->debug_path : "", &debug);
	return lines_key(&f, &debug);
}

static struct lines *recall(const struct catalog *c, const char *key)
{
	struct strbuf data = STRBUF_INIT;
	struct lines *l = NULL;

	if (key && cache_get(c->opts.discover.cache_dir, key, &data))
		l = lines_unpack(&data);
	strbuf_release(&data);
	return l;
}

/* What is asked for, and what was known before: both are remembered. */
static void widen(struct lines_request *q, const struct lines_request *asked,
		  const struct lines *known)
{
	VEC(uint64_t) points = { 0 };
	VEC(uint64_t) locations = { 0 };

	for (size_t i = 0; i < asked->nr_points; i++)
		vec_push(&points, asked->points[i]);
	for (size_t i = 0; i < asked->nr_locations; i++)
		vec_push(&locations, asked->locations[i]);
	for (size_t i = 0; known && i < known->points.nr && points.nr < MAX_POINTS; i++)
		vec_push(&points, known->points.v[i].va);
	for (size_t i = 0; known && i < known->locations.nr && locations.nr < MAX_POINTS; i++)
		vec_push(&locations, known->locations.v[i].va);
	*q = (struct lines_request){ points.v, locations.v, points.nr, locations.nr };
	lines_sort(q);
}

static struct lines *read_lines(const struct catalog *c, struct work *w, const char *key,
				char why[WORKER_WHY])
{
	const char *dir = c->opts.discover.cache_dir;
	struct reader reader = { .stage = "lines",
				 .path = w->path,
				 .debug_path = w->debug_path,
				 .cache_dir = dir,
				 .run = work,
				 .arg = w,
				 .meanwhile = &c->meanwhile };
	struct strbuf answer = STRBUF_INIT, copy = STRBUF_INIT;
	struct lines *l = NULL;

	if (reader_run(&reader, &answer, why, NULL) == WORKER_DONE) {
		snprintf(why, WORKER_WHY, "gave a broken answer");
		strbuf_add(&copy, answer.s, answer.len);
		l = lines_unpack(&answer);
		if (l && key && w->depth == DISCOVER_ALL)
			cache_put(dir, key, copy.s, copy.len, MAX_BYTES);
	}
	strbuf_release(&answer);
	strbuf_release(&copy);
	return l;
}

struct lines *catalog_lines(const struct catalog *c, const struct reading *r, int fd,
			    struct lines_request *q)
{
	struct work w = { .debug_path = r->d->debug_path, .depth = r->depth };
	char *key, why[WORKER_WHY], first[WORKER_WHY] = "";
	struct lines *l;

	/* the worker has no descriptor of ours */
	snprintf(w.path, sizeof(w.path), "/proc/%d/fd/%d", getpid(), fd);
	lines_sort(q);
	key = key_of(c, r, w.path);
	l = recall(c, key);
	if (!l || !lines_have(l, q)) {
		widen(&w.q, q, l);
		lines_free(l);
		for (l = NULL; !l && w.depth < NR_DISCOVER_DEPTHS; w.depth++) {
			l = read_lines(c, &w, key, why);
			if (!l && !*first)
				snprintf(first, sizeof(first), "%s", why);
		}
		if (*first && !l)
			catalog_note(c,
				     "lines of %s could not be read (their reader %s): where tasks "
				     "are spawned is not recorded",
				     r->d->path, first);
		free(w.q.points);
		free(w.q.locations);
	}
	free(key);
	return l;
}
