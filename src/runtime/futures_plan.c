// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which of the functions that poll inner futures are wanted, and how each is hooked: its first
 * instructions give way to a jump where that is sure to change nothing else. Where it is not, and
 * only tables lead to it, the tables are hooked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "runtime/futures.h"
#include "runtime/scan.h"
#include "runtime/source.h"

/* ---- wanted ---- */

static bool is_of_program(const struct candidate *c)
{
	return (c->file ? source_owner(c->file) : source_owner_of_path(c->name)) ==
	       SOURCE_OF_PROGRAM;
}

/* The last pattern that matches decides. */
static bool is_chosen(const char *patterns, const char *name, bool is_default)
{
	bool is_wanted = patterns[0] == '!' && is_default;

	while (*patterns) {
		bool is_not = *patterns == '!';
		size_t len;

		patterns += is_not;
		len = pattern_item_len(patterns);
		if (pattern_fits(patterns, len, name))
			is_wanted = !is_not;
		patterns += len;
		patterns += *patterns == ',';
	}
	return is_wanted;
}

int futures_check(const char *patterns, struct err *e)
{
	do {
		size_t len;

		patterns += *patterns == '!';
		len = pattern_item_len(patterns);
		if (pattern_item_check(patterns, len, e))
			return -1;
		patterns += len;
	} while (*patterns++ == ',');
	return 0;
}

bool futures_is_wanted(const struct futures_wanted *w, const struct candidate *c)
{
	bool is_default = (c->is_generated || c->nr_tables) && is_of_program(c);

	if (w->only_generated && !c->is_generated)
		return false;
	return w->patterns ? is_chosen(w->patterns, c->name, is_default) : is_default;
}

/* ---- safe ---- */

static bool plan_redirect(const struct image *img, const struct candidate *c,
			  struct wire_redirect *r)
{
	const uint8_t *code = c->size_bytes ? image_at(img, c->va, c->size_bytes) : NULL;
	unsigned landing = code ? code_landing(code, c->size_bytes) : 0;

	if (!code)
		return false;
	r->va += landing;
	r->nr_bytes = code_movable_far(code + landing, c->size_bytes - landing, WIRE_MOVED_BYTES,
				       &r->distance_at);
	memcpy(r->bytes, code + landing, r->nr_bytes);
	return r->nr_bytes > 0 &&
	       !code_is_jumped_into(img, c->va, c->size_bytes, landing + r->nr_bytes);
}

/* By the state that a coroutine is left in: 1 is returned. */
static bool result_by_state(const struct futures_search *s, const struct candidate *c,
			    struct wire_result *r)
{
	struct code_state state;

	if (!c->is_generated || !code_find_state(s->f->img, c->va, c->size_bytes, &state))
		return false;
	*r = (struct wire_result){ .value = 1,
				   .off = state.off,
				   .place = state.arg ? WIRE_RESULT_ARG1 : WIRE_RESULT_ARG0,
				   .nr_bytes = state.nr_bytes,
				   .is_ready = 1 };
	return true;
}

/*
 * By what it returns, as debug info describes it: up to 16 bytes come in registers, the first of
 * them in rax; behind others it may be anywhere.
 */
static void result_by_type(const struct futures_search *s, const struct candidate *c,
			   struct wire_result *r)
{
	bool is_number, is_large;
	struct dwarf_poll_type type;

	if (!c->type_off || !dwarf_read_poll_type(s->dwarf, c->type_off, &type))
		return;
	is_number = type.nr_bytes == 1 || type.nr_bytes == 2 || type.nr_bytes == 4 ||
		    type.nr_bytes == 8;
	is_large = type.size_bytes > 16;
	if (!is_number || (!is_large && type.off))
		return;
	*r = (struct wire_result){ .value = type.pending,
				   .off = type.off,
				   .place = is_large ? WIRE_RESULT_LARGE : WIRE_RESULT_RETURNED,
				   .nr_bytes = type.nr_bytes };
}

static void add_tables(const struct futures_search *s, const struct candidate *c, uint32_t future)
{
	vec_each (t, &s->tables) {
		struct found_table found = scan_waker(t->va, WIRE_TABLE_FUTURE);

		if (&s->candidates.v[t->candidate] != c)
			continue;
		memcpy(found.plan.words, t->words, sizeof(t->words));
		found.plan.code_mask = 1 << 3 | t->has_drop;
		found.plan.slot_wake = found.plan.slot_wake_by_ref = WIRE_NO_SLOT;
		found.plan.slot_poll = 3;
		found.plan.id_off = future;
		vec_push(&s->f->tables, found);
	}
}

/* A future on its way into the plan. */
struct choice {
	struct candidate *c;
	struct found_future to;
	bool is_wanted, is_refused, is_beyond, needs_tables;
	enum futures_refusal why;
};

/* Its instructions are moved, or, if that cannot be done, its tables are hooked. */
static void plan(const struct futures_search *s, const struct code_frames *frames, struct choice *x)
{
	const struct candidate *c = x->c;
	struct wire_redirect *r = &x->to.plan.redirect;

	x->to = (struct found_future){ .name = c->name,
				       .file = c->file ? c->file : "",
				       .line = c->line,
				       .seen = c->seen,
				       .is_generated = c->is_generated };
	*r = (struct wire_redirect){ .va = c->va, .kind = WIRE_FUTURE, .type = EVENT_TYPE_NONE };
	/* our own frame lies between the function and its caller in either case */
	x->is_refused = c->is_merged || code_takes_stack(frames, s->f->img, c->va, c->size_bytes);
	x->why = c->is_merged ? FUTURES_MERGED : FUTURES_STACK;
	if (x->is_refused)
		return;
	x->why = FUTURES_FIXED;
	x->is_refused = !finding_is_function(s->f, c->va, c->size_bytes);
	if (x->is_refused)
		return;
	if (!result_by_state(s, c, &x->to.plan.result))
		result_by_type(s, c, &x->to.plan.result);
	if (plan_redirect(s->f->img, c, r))
		return;
	r->va = c->va;
	r->nr_bytes = r->distance_at = 0;
	x->needs_tables = true;
	x->is_refused = !c->nr_tables || c->is_elsewhere;
}

/* Is it a distance that follows this byte, in a call, a jump, or an operand relative to rip? */
static bool takes_distance(const uint8_t *code, uint64_t at)
{
	uint8_t last = at ? code[at - 1] : 0, before = at > 1 ? code[at - 2] : 0;

	return last == 0xe8 || last == 0xe9 || (before == 0x0f && (last & 0xf0) == 0x80) ||
	       (last & 0xc7) == 0x05;
}

/*
 * Is there, anywhere in code, what could be a call or a jump to one of them, or take its address?
 * Instructions are not decoded: each byte is tried. Such a call would go past the tables.
 */
static void refuse_called(const struct image *img, struct choice *v, size_t nr)
{
	struct map by_va = MAP_INIT;

	for (size_t i = 0; i < nr; i++)
		if (v[i].needs_tables && !v[i].is_refused)
			*map_put(&by_va, v[i].c->va, NULL) = i;
	for (uint32_t i = 0; by_va.nr && i < img->nr_segments; i++) {
		const struct image_segment *seg = &img->segments[i];
		const uint8_t *p = img->data + seg->off;

		for (uint64_t at = 0; seg->exec && at + 4 <= seg->file_bytes; at++) {
			const uint64_t *called;
			int32_t distance;

			if (!takes_distance(p, at))
				continue;
			memcpy(&distance, p + at, 4);
			called = map_get(&by_va, seg->va + at + 4 + distance);
			if (called)
				v[*called].is_refused = true;
		}
	}
	map_release(&by_va);
}

static int compare_choices(const void *a, const void *b)
{
	const struct candidate *x = ((const struct choice *)a)->c;
	const struct candidate *y = ((const struct choice *)b)->c;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->va > y->va) - (x->va < y->va);
}

static bool is_kept(const struct choice *x)
{
	return x->is_wanted && !x->is_refused && !x->is_beyond;
}

/* A future may have several functions: all of its polls are seen if all of these are. */
static void settle_seen(struct choice *v, size_t nr)
{
	for (size_t from = 0, to; from < nr; from = to) {
		bool is_whole = true;

		for (to = from; to < nr && strcmp(v[to].c->name, v[from].c->name) == 0; to++)
			is_whole &= is_kept(&v[to]);
		for (size_t i = from; i < to && !is_whole; i++)
			if (v[i].to.seen == TRACE_FUTURE_ALL)
				v[i].to.seen = TRACE_FUTURE_SOME;
	}
}

static void keep(const struct futures_search *s, const struct choice *x)
{
	struct found_futures *found = &s->f->futures;

	found->nr_refused += x->is_wanted && x->is_refused;
	found->refused[x->why] += x->is_wanted && x->is_refused;
	found->nr_beyond += x->is_beyond;
	if (!is_kept(x))
		return;
	if (x->needs_tables)
		add_tables(s, x->c, found->nr);
	found->nr_by_tables += x->needs_tables;
	found->nr_partly += x->to.seen != TRACE_FUTURE_ALL;
	found->v[found->nr++] = x->to;
}

void futures_plan(struct futures_search *s, const struct futures_wanted *wanted)
{
	struct code_frames *frames = code_frames_new(s->f->img);
	VEC(struct choice) choices = { 0 };
	size_t nr = 0;

	vec_each (c, &s->candidates)
		vec_push(&choices,
			 (struct choice){ .c = c, .is_wanted = futures_is_wanted(wanted, c) });
	if (choices.nr)
		qsort(choices.v, choices.nr, sizeof(*choices.v), compare_choices);
	vec_each (x, &choices)
		if (x->is_wanted)
			plan(s, frames, x);
	refuse_called(s->f->img, choices.v, choices.nr);
	vec_each (x, &choices)
		if (is_kept(x))
			x->is_beyond = nr++ >= WIRE_MAX_FUTURES;
	settle_seen(choices.v, choices.nr);
	s->f->futures.v = xcalloc(MIN(nr, (size_t)WIRE_MAX_FUTURES) + 1, sizeof(*s->f->futures.v));
	vec_each (x, &choices)
		keep(s, x);
	vec_release(&choices);
	code_frames_free(frames);
}
