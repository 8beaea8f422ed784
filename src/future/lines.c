// SPDX-License-Identifier: MIT OR Apache-2.0
#include "future/lines.h"

#include <string.h>

#include "future/reading_priv.h"
#include "runtime/source.h"
#include "symbol/symtab.h"

#define VERSION	 1
#define MAX_PATH 4096 /* of a source file */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t sort(uint64_t *v, size_t nr)
{
	size_t kept = 0;

	if (nr)
		qsort(v, nr, sizeof(*v), by_number);
	for (size_t i = 0; i < nr; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

void lines_sort(struct lines_request *q)
{
	q->nr_points = sort(q->points, q->nr_points);
	q->nr_locations = sort(q->locations, q->nr_locations);
}

/* ---- in the worker ---- */

static void pack_points(struct strbuf *b, struct dwarf *d, const struct lines_request *q)
{
	struct dwarf_point *points = xcalloc(q->nr_points + 1, sizeof(*points));

	for (size_t i = 0; i < q->nr_points; i++)
		points[i].va = q->points[i];
	if (d && q->nr_points)
		dwarf_find_places(d, points, q->nr_points);
	pack_number(b, q->nr_points);
	for (size_t i = 0; i < q->nr_points; i++) {
		pack_number(b, points[i].va);
		pack_number(b, points[i].nr_places);
		for (size_t k = 0; k < points[i].nr_places; k++) {
			pack_string(b, points[i].places[k].file);
			pack_string(b, points[i].places[k].function);
			pack_string(b, points[i].places[k].linkage);
			pack_number(b, points[i].places[k].line);
		}
		free(points[i].places);
	}
	free(points);
}

/* What the runtime kept: a core::panic::Location { file: &str, line: u32, column: u32 }. */
static void pack_location(struct strbuf *b, const struct image *img, uint64_t va)
{
	uint64_t text, len, position = 0;
	const uint8_t *bytes = NULL;
	char *file;

	if (img && image_word(img, va, &text) && image_word(img, va + 8, &len) &&
	    image_word(img, va + 16, &position) && len && len <= MAX_PATH)
		bytes = image_at(img, text, len);
	file = bytes && (uint32_t)position && !memchr(bytes, 0, len)
		       ? xstrndup((const char *)bytes, len)
		       : xstrdup("");
	pack_number(b, va);
	pack_string(b, file);
	pack_number(b, (uint32_t)position);
	free(file);
}

static void note_local(void *arg, const struct symbol *s)
{
	struct source_function f = { .linkage = s->name, .may_be_merged = true };
	struct lines *l = arg;

	if (source_spawns_local(&f))
		vec_push(&l->local, (struct lines_range){ s->va, s->va + s->size_bytes });
}

void lines_make(const char *path, const char *debug_path, enum discover_depth depth,
		const struct lines_request *q, struct strbuf *answer)
{
	struct image *img = image_open(path, path, NULL);
	struct lines found = { 0 };
	const char *why;
	struct dwarf *d =
		depth == DISCOVER_ALL ? dwarf_open(*debug_path ? debug_path : path, &why) : NULL;

	pack_points(answer, d, q);
	pack_number(answer, q->nr_locations);
	for (size_t i = 0; i < q->nr_locations; i++)
		pack_location(answer, img, q->locations[i]);
	if (img && depth < DISCOVER_TABLES)
		symtab_each_function(img, note_local, &found);
	pack_number(answer, found.local.nr);
	if (found.local.nr)
		strbuf_add(answer, found.local.v, found.local.nr * sizeof(*found.local.v));
	vec_release(&found.local);
	dwarf_close(d);
	image_close(img);
}

/* ---- what it answered ---- */

/* NULL: not known. */
static const char *unpack_known(struct unpack *u, struct intern *strings)
{
	const char *s = unpack_clean(u, strings);

	return *s ? s : NULL;
}

static void unpack_point(struct unpack *u, struct lines *l)
{
	struct lines_point p = { .va = unpack_number(u), .first_place = l->places.nr };

	p.nr_places = unpack_count(u, 8);
	u->is_broken |= l->points.nr && p.va <= l->points.v[l->points.nr - 1].va;
	for (uint32_t i = 0; i < p.nr_places && !u->is_broken; i++) {
		struct dwarf_place place = { .file = unpack_known(u, l->strings) };

		place.function = unpack_known(u, l->strings);
		place.linkage = unpack_known(u, l->strings);
		place.line = unpack_number(u);
		vec_push(&l->places, place);
	}
	vec_push(&l->points, p);
}

static void unpack_location(struct unpack *u, struct lines *l)
{
	struct lines_location at = { .va = unpack_number(u) };

	at.file = unpack_clean(u, l->strings);
	at.line = unpack_number(u);
	u->is_broken |= l->locations.nr && at.va <= l->locations.v[l->locations.nr - 1].va;
	vec_push(&l->locations, at);
}

struct lines *lines_unpack(struct strbuf *data)
{
	struct unpack u = UNPACK_INIT(data->s, data->len);
	struct lines *l = xcalloc(1, sizeof(*l));
	uint64_t nr;

	l->strings = intern_new();
	l->data = strbuf_take(data);
	for (nr = unpack_count(&u, 16); nr && !u.is_broken; nr--)
		unpack_point(&u, l);
	for (nr = unpack_count(&u, 17); nr && !u.is_broken; nr--)
		unpack_location(&u, l);
	for (nr = unpack_count(&u, sizeof(struct lines_range)); nr && !u.is_broken; nr--) {
		struct lines_range range;

		unpack_bytes(&u, &range, sizeof(range));
		vec_push(&l->local, range);
	}
	if (!u.is_broken && u.p == u.end)
		return l;
	lines_free(l);
	return NULL;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	vec_release(&l->points);
	vec_release(&l->places);
	vec_release(&l->locations);
	vec_release(&l->local);
	intern_free(l->strings);
	free(l->data);
	free(l);
}

char *lines_key(const struct fingerprint *f, const struct fingerprint *debug)
{
	return xasprintf("lines %d " FUTRACE_VERSION " %llx %llx %llx %llx", VERSION,
			 (unsigned long long)f->size_bytes, (unsigned long long)f->hash,
			 (unsigned long long)debug->size_bytes, (unsigned long long)debug->hash);
}

const struct lines_point *lines_at(const struct lines *l, uint64_t va)
{
	size_t i = partition_point(k, l->points.nr, l->points.v[k].va < va);

	return i < l->points.nr && l->points.v[i].va == va ? &l->points.v[i] : NULL;
}

const struct lines_location *lines_location(const struct lines *l, uint64_t va)
{
	size_t i = partition_point(k, l->locations.nr, l->locations.v[k].va < va);

	return i < l->locations.nr && l->locations.v[i].va == va && *l->locations.v[i].file
		       ? &l->locations.v[i]
		       : NULL;
}

bool lines_is_local(const struct lines *l, uint64_t va)
{
	vec_each (r, &l->local)
		if (va >= r->va && va < r->end_va)
			return true;
	return false;
}

static bool has_location(const struct lines *l, uint64_t va)
{
	size_t i = partition_point(k, l->locations.nr, l->locations.v[k].va < va);

	return i < l->locations.nr && l->locations.v[i].va == va;
}

bool lines_have(const struct lines *l, const struct lines_request *q)
{
	for (size_t i = 0; i < q->nr_points; i++)
		if (!lines_at(l, q->points[i]))
			return false;
	for (size_t i = 0; i < q->nr_locations; i++)
		if (!has_location(l, q->locations[i]))
			return false;
	return true;
}
