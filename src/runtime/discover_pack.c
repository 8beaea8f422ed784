// SPDX-License-Identifier: MIT OR Apache-2.0
/* A discovery as bytes. What comes back is checked: see discovery_unpack. */
#include <string.h>

#include "runtime/discover_pack.h"
#include "runtime/discover_priv.h"
#include "runtime/runtime.h"

#define LEAST_BYTES  8 /* of anything that is counted */
#define MAX_RUNTIMES 4096

/* ---- to bytes ---- */

static void pack_runtime(struct strbuf *b, const struct found_runtime *r)
{
	pack_number(b, r->descriptor);
	pack_string(b, r->name);
	pack_string(b, r->version);
	pack_string(b, r->note);
	pack_string(b, r->found_by);
	pack_number(b, r->nr_tables);
	pack_number(b, r->nr_refused);
	pack_number(b, r->unstable);
	pack_number(b, r->waker_known);
	for (size_t i = 0; i < NR_FACTS; i++) {
		pack_number(b, r->facts[i].how);
		pack_string(b, r->facts[i].text);
		pack_string(b, r->facts[i].remedy);
	}
}

static void pack_table(struct strbuf *b, const struct found_table *t)
{
	strbuf_add(b, &t->plan, sizeof(t->plan));
	pack_number(b, t->runtime);
	pack_number(b, t->kind);
	pack_string(b, t->name);
	pack_string(b, t->scheduler);
	pack_string(b, t->file);
	pack_number(b, t->line);
	pack_number(b, t->nr_candidates);
	pack_number(b, t->size_bytes);
}

static void pack_roots(struct strbuf *b, const struct found_roots *r)
{
	pack_number(b, r->nr_redirects);
	strbuf_add(b, r->redirects, r->nr_redirects * sizeof(*r->redirects));
	pack_number(b, r->nr_waits);
	pack_number(b, r->nr_parks);
	pack_number(b, r->runtime);
	pack_number(b, r->parking_runtime);
	pack_string(b, r->note);
}

static void pack_future(struct strbuf *b, const struct found_future *f)
{
	strbuf_add(b, &f->plan, sizeof(f->plan));
	pack_string(b, f->name);
	pack_string(b, f->file);
	pack_number(b, f->line);
	pack_number(b, f->seen);
	pack_number(b, f->is_generated);
}

static void pack_futures(struct strbuf *b, const struct found_futures *f)
{
	pack_number(b, f->nr);
	for (uint32_t i = 0; i < f->nr; i++)
		pack_future(b, &f->v[i]);
	pack_number(b, f->nr_by_tables);
	pack_number(b, f->nr_partly);
	for (size_t i = 0; i < NR_FUTURES_REFUSALS; i++)
		pack_number(b, f->refused[i]);
	pack_number(b, f->nr_inlined);
	pack_number(b, f->has_inlined);
	pack_number(b, f->nr_refused);
	pack_number(b, f->nr_beyond);
	pack_string(b, f->note);
}

static void pack_rest(struct strbuf *b, const struct discovery *d)
{
	pack_number(b, d->nr_allocs);
	for (uint32_t i = 0; i < d->nr_allocs; i++) {
		pack_string(b, d->allocs[i].allocator);
		strbuf_add(b, &d->allocs[i].redirect, sizeof(d->allocs[i].redirect));
	}
	pack_number(b, d->marks.nr);
	strbuf_add(b, d->marks.slots, d->marks.nr * sizeof(*d->marks.slots));
}

void discovery_pack(struct strbuf *b, const struct discovery *d)
{
	pack_string(b, d->path);
	pack_string(b, d->build_id);
	pack_string(b, d->allocator);
	pack_number(b, d->memory);
	pack_string(b, d->mangling);
	pack_string(b, d->debug_path);
	pack_number(b, d->link);
	pack_number(b, d->is_pie);
	pack_number(b, d->rung);
	pack_number(b, d->is_debug_info_unusable);
	pack_string(b, d->rung_note);
	pack_number(b, d->took_ns);
	pack_number(b, d->nr_broken);
	pack_number(b, d->nr_runtimes);
	for (uint32_t i = 0; i < d->nr_runtimes; i++)
		pack_runtime(b, &d->runtimes[i]);
	pack_number(b, d->nr_tables);
	for (uint32_t i = 0; i < d->nr_tables; i++)
		pack_table(b, &d->tables[i]);
	pack_roots(b, &d->roots);
	pack_futures(b, &d->futures);
	pack_rest(b, d);
}

/* ---- from bytes ---- */

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

const char *unpack_clean(struct unpack *u, struct intern *strings)
{
	const char *s = unpack_string(u), *kept;
	struct strbuf clean = STRBUF_INIT;

	if (is_plain(s))
		return s;
	strbuf_add_clean(&clean, s, strlen(s));
	kept = intern_get(strings, intern_puts(strings, clean.s));
	strbuf_release(&clean);
	return kept;
}

static const char *unpack_maybe(struct unpack *u, struct intern *strings)
{
	const char *s = unpack_clean(u, strings);

	return *s ? s : NULL;
}

static void unpack_runtime(struct unpack *u, struct intern *strings, struct found_runtime *r)
{
	r->descriptor = unpack_below(u, UINT32_MAX);
	r->name = unpack_clean(u, strings);
	r->version = unpack_clean(u, strings);
	r->note = unpack_clean(u, strings);
	r->found_by = unpack_clean(u, strings);
	r->nr_tables = unpack_number(u);
	r->nr_refused = unpack_number(u);
	r->unstable = unpack_number(u);
	r->waker_known = unpack_number(u);
	u->is_broken |= !runtime_descriptor(r);
	for (size_t i = 0; i < NR_FACTS; i++) {
		r->facts[i].how = unpack_below(u, HOW_NOT + 1);
		r->facts[i].text = unpack_maybe(u, strings);
		r->facts[i].remedy = unpack_maybe(u, strings);
	}
}

static bool is_slot(const struct wire_table *t, uint8_t slot)
{
	return slot < t->nr_words || slot == WIRE_NO_SLOT;
}

/* Names and numbers of the trace are the caller's to fill in. */
static bool is_sound(const struct wire_table *t)
{
	return t->nr_words <= WIRE_TABLE_WORDS && is_slot(t, t->slot_poll) &&
	       is_slot(t, t->slot_schedule) && is_slot(t, t->slot_dealloc) &&
	       is_slot(t, t->slot_shutdown) && is_slot(t, t->slot_wake) &&
	       is_slot(t, t->slot_wake_by_ref) && is_slot(t, t->slot_abort) &&
	       is_slot(t, t->slot_detach) && t->kind && t->kind <= WIRE_TABLE_MARKS;
}

static void unpack_table(struct unpack *u, struct intern *strings, const struct discovery *d,
			 struct found_table *t)
{
	unpack_bytes(u, &t->plan, sizeof(t->plan));
	t->runtime = unpack_below(u, d->nr_runtimes);
	t->kind = unpack_below(u, TRACE_HELPER + 1);
	t->name = unpack_clean(u, strings);
	t->scheduler = unpack_clean(u, strings);
	t->file = unpack_clean(u, strings);
	t->line = unpack_number(u);
	t->nr_candidates = unpack_number(u);
	t->size_bytes = unpack_number(u);
	u->is_broken |= !is_sound(&t->plan);
}

static void unpack_redirect(struct unpack *u, struct wire_redirect *r)
{
	unpack_bytes(u, r, sizeof(*r));
	u->is_broken |= r->nr_bytes > WIRE_MOVED_BYTES || r->distance_at > WIRE_MOVED_BYTES - 4;
}

static void unpack_roots(struct unpack *u, struct intern *strings, const struct discovery *d,
			 struct found_roots *r)
{
	uint32_t max = MAX(d->nr_runtimes, 1u);

	r->nr_redirects = unpack_below(u, WIRE_MAX_REDIRECTS + 1);
	for (uint32_t i = 0; i < r->nr_redirects; i++)
		unpack_redirect(u, &r->redirects[i]);
	r->nr_waits = unpack_below(u, WIRE_MAX_REDIRECTS + 1);
	r->nr_parks = unpack_below(u, WIRE_MAX_REDIRECTS + 1);
	r->runtime = unpack_below(u, max);
	r->parking_runtime = unpack_below(u, max);
	r->note = unpack_clean(u, strings);
	u->is_broken |= r->nr_redirects && !d->nr_runtimes;
}

static void unpack_future(struct unpack *u, struct intern *strings, struct found_future *f)
{
	unpack_bytes(u, &f->plan, sizeof(f->plan));
	u->is_broken |= f->plan.redirect.nr_bytes > WIRE_MOVED_BYTES ||
			f->plan.redirect.distance_at > WIRE_MOVED_BYTES - 4;
	f->name = unpack_clean(u, strings);
	f->file = unpack_clean(u, strings);
	f->line = unpack_number(u);
	f->seen = unpack_below(u, TRACE_FUTURE_UNSURE + 1);
	f->is_generated = unpack_number(u);
}

static void unpack_futures(struct unpack *u, struct intern *strings, struct found_futures *f)
{
	uint32_t nr = unpack_count(u, sizeof(struct wire_future));

	f->v = xcalloc((size_t)nr + 1, sizeof(*f->v));
	for (; f->nr < nr && !u->is_broken; f->nr++)
		unpack_future(u, strings, &f->v[f->nr]);
	f->nr_by_tables = unpack_number(u);
	f->nr_partly = unpack_number(u);
	for (size_t i = 0; i < NR_FUTURES_REFUSALS; i++)
		f->refused[i] = unpack_number(u);
	f->nr_inlined = unpack_number(u);
	f->has_inlined = unpack_number(u);
	f->nr_refused = unpack_number(u);
	f->nr_beyond = unpack_number(u);
	f->note = unpack_clean(u, strings);
}

static void unpack_rest(struct unpack *u, struct intern *strings, struct discovery *d)
{
	d->nr_allocs = unpack_below(u, ARRAY_SIZE(d->allocs) + 1);
	for (uint32_t i = 0; i < d->nr_allocs; i++) {
		d->allocs[i].allocator = unpack_clean(u, strings);
		unpack_redirect(u, &d->allocs[i].redirect);
	}
	d->marks.nr = unpack_below(u, ARRAY_SIZE(d->marks.slots) + 1);
	for (uint32_t i = 0; i < d->marks.nr; i++) {
		unpack_bytes(u, &d->marks.slots[i], sizeof(d->marks.slots[i]));
		u->is_broken |= !is_sound(&d->marks.slots[i]);
	}
}

static void unpack_lists(struct unpack *u, struct intern *strings, struct discovery *d)
{
	uint32_t nr = unpack_count(u, LEAST_BYTES);

	u->is_broken |= nr > MAX_RUNTIMES;
	nr = u->is_broken ? 0 : nr;
	d->runtimes = xcalloc((size_t)nr + 1, sizeof(*d->runtimes));
	for (; d->nr_runtimes < nr && !u->is_broken; d->nr_runtimes++)
		unpack_runtime(u, strings, &d->runtimes[d->nr_runtimes]);
	nr = unpack_count(u, sizeof(struct wire_table));
	d->tables = xcalloc((size_t)nr + 1, sizeof(*d->tables));
	for (; d->nr_tables < nr && !u->is_broken; d->nr_tables++)
		unpack_table(u, strings, d, &d->tables[d->nr_tables]);
}

struct discovery *discovery_unpack(struct unpack *u)
{
	struct owned *o = xcalloc(1, sizeof(*o));
	struct discovery *d = &o->d;
	struct intern *strings = o->strings = intern_new();

	d->path = unpack_clean(u, strings);
	d->build_id = unpack_clean(u, strings);
	d->allocator = unpack_clean(u, strings);
	d->memory = unpack_below(u, MEMORY_OWN + 1);
	d->mangling = unpack_clean(u, strings);
	d->debug_path = unpack_clean(u, strings);
	d->link = unpack_below(u, ELF_SHARED_OBJECT + 1);
	d->is_pie = unpack_number(u);
	d->rung = unpack_below(u, RUNG_FULL + 1);
	d->is_debug_info_unusable = unpack_number(u);
	d->rung_note = unpack_clean(u, strings);
	d->took_ns = unpack_number(u);
	d->nr_broken = unpack_number(u);
	unpack_lists(u, strings, d);
	unpack_roots(u, strings, d, &d->roots);
	unpack_futures(u, strings, &d->futures);
	unpack_rest(u, strings, d);
	if (!u->is_broken)
		return d;
	discovery_free(d);
	return NULL;
}
