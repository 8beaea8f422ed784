// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/remember.h"

#include <string.h>

#include "symbol/cache.h"

#define VERSION	  26 /* of what is written below, and of how names are made */
#define MAX_BYTES (UINT64_C(64) << 20)

char *remember_key(const struct image *img, const struct image *debug)
{
	struct strbuf key = STRBUF_INIT;

	if (!img->build_id[0])
		return NULL;
	strbuf_addf(&key, "names %d", VERSION);
	cache_add_image(&key, img);
	if (debug)
		cache_add_image(&key, debug);
	return strbuf_take(&key);
}

static void put_number(struct strbuf *b, uint64_t x)
{
	strbuf_add(b, &x, sizeof(x));
}

static void put_string(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s) + 1);
}

void remember_put(const char *dir, const char *key, const struct finding *f)
{
	struct strbuf b = STRBUF_INIT;

	put_number(&b, f->has_functions);
	put_number(&b, f->has_types);
	put_string(&b, f->mangling);
	put_number(&b, f->runtimes.nr);
	for (size_t i = 0; i < f->runtimes.nr; i++) {
		const struct found_runtime *r = &f->runtimes.v[i];

		put_string(&b, r->name);
		put_string(&b, r->version);
		put_string(&b, r->note);
		put_string(&b, r->found_by);
		put_number(&b, r->descriptor);
		put_number(&b, r->nr_tables);
		put_number(&b, r->nr_refused);
		put_number(&b, r->unstable);
		put_number(&b, r->waker_known);
	}
	put_number(&b, f->tables.nr);
	for (size_t i = 0; i < f->tables.nr; i++) {
		const struct found_table *t = &f->tables.v[i];

		strbuf_add(&b, &t->plan, sizeof(t->plan));
		put_number(&b, t->runtime);
		put_number(&b, t->kind);
		put_string(&b, t->name);
		put_string(&b, t->scheduler);
		put_string(&b, t->file);
		put_number(&b, t->line);
		put_number(&b, t->nr_candidates);
		put_number(&b, t->size_bytes);
	}
	cache_put(dir, key, b.s, b.len, MAX_BYTES);
	strbuf_release(&b);
}

struct reader {
	const char *p, *end;
	struct finding *f;
	bool broken;
};

static void get_bytes(struct reader *r, void *to, size_t len)
{
	if (r->broken || (size_t)(r->end - r->p) < len) {
		r->broken = true;
		memset(to, 0, len);
		return;
	}
	memcpy(to, r->p, len);
	r->p += len;
}

static uint64_t get_number(struct reader *r)
{
	uint64_t x;

	get_bytes(r, &x, sizeof(x));
	return x;
}

static const char *get_string(struct reader *r)
{
	const char *nul = r->broken ? NULL : memchr(r->p, '\0', r->end - r->p), *s;

	if (!nul) {
		r->broken = true;
		return "";
	}
	s = finding_string(r->f, r->p);
	r->p = nul + 1;
	return s;
}

static void get_runtime(struct reader *r, struct finding *to)
{
	struct found_runtime rt = { 0 };

	rt.name = get_string(r);
	rt.version = get_string(r);
	rt.note = get_string(r);
	rt.found_by = get_string(r);
	rt.descriptor = get_number(r);
	rt.nr_tables = get_number(r);
	rt.nr_refused = get_number(r);
	rt.unstable = get_number(r);
	rt.waker_known = get_number(r);
	r->broken |= !runtime_descriptor(&rt);
	vec_push(&to->runtimes, rt);
}

/*
 * A table must be what the file says now; one that was found by its symbol is checked word by word.
 */
static bool get_table(struct reader *r, const struct finding *now, struct finding *to)
{
	struct found_table t = { 0 };
	struct wire_table bare; /* without what names add to it */
	bool agrees = true;
	uint64_t word;

	get_bytes(r, &t.plan, sizeof(t.plan));
	t.runtime = get_number(r);
	t.kind = get_number(r);
	t.name = get_string(r);
	t.scheduler = get_string(r);
	t.file = get_string(r);
	t.line = get_number(r);
	t.nr_candidates = get_number(r);
	t.size_bytes = get_number(r);
	bare = t.plan;
	bare.own_name = (struct wire_own_name){ 0 };
	if (to->tables.nr < now->tables.nr)
		agrees = memcmp(&now->tables.v[to->tables.nr].plan, &bare, sizeof(bare)) == 0;
	for (unsigned i = 0; i < MIN(t.plan.nr_words, (unsigned)WIRE_TABLE_WORDS); i++)
		agrees &= image_word(now->img, t.plan.va + 8 * i, &word) && word == t.plan.words[i];
	vec_push(&to->tables, t);
	return agrees && t.runtime < to->runtimes.nr && t.kind <= TRACE_HELPER &&
	       t.plan.nr_words <= WIRE_TABLE_WORDS;
}

bool remember_get(const char *dir, const char *key, struct finding *f)
{
	struct strbuf data = STRBUF_INIT;
	struct finding to = { 0 };
	bool ok = cache_get(dir, key, &data);
	struct reader r = { .p = data.s, .end = data.s + data.len, .f = f };
	uint64_t nr;

	if (ok) {
		to.has_functions = get_number(&r);
		to.has_types = get_number(&r);
		to.mangling = get_string(&r);
		nr = get_number(&r);
		while (nr-- && !r.broken)
			get_runtime(&r, &to);
		nr = get_number(&r);
		ok = nr >= f->tables.nr;
		while (ok && nr-- && !r.broken)
			ok = get_table(&r, f, &to);
		ok = ok && !r.broken;
	}
	if (ok) {
		vec_release(&f->runtimes);
		vec_release(&f->tables);
		memcpy(&f->runtimes, &to.runtimes, sizeof(to.runtimes));
		memcpy(&f->tables, &to.tables, sizeof(to.tables));
		f->has_functions = to.has_functions;
		f->has_types = to.has_types;
		f->mangling = to.mangling;
	} else {
		vec_release(&to.runtimes);
		vec_release(&to.tables);
	}
	strbuf_release(&data);
	return ok;
}
