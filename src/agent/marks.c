// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Marks and spans of the program's own in the ring: the fields first, then what they belong to, so
 * that whoever reads has all of it when that comes. All of it or nothing.
 *
 * Names never change, so that their addresses nearly tell them: they are kept in the region once,
 * and events have their numbers. A library may go, and another come to its place: so they are
 * compared as well.
 */
#include "agent/ring.h"
#include "wire/mark.h"

enum { MAX_TRIES = 16, PIECE_BYTES = 16 };

static bool is_used(const struct wire_region *r, uint32_t number)
{
	return __atomic_load_n(&r->texts_used[number / 64], __ATOMIC_ACQUIRE) >> number % 64 & 1;
}

static bool is_same(const struct wire_text *t, const char *text, uint32_t len)
{
	if (t->len != len)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if (t->text[i] != text[i])
			return false;
	return true;
}

static bool fill_text(struct wire_region *r, uint32_t number, uint64_t key, uint32_t len)
{
	struct wire_text *t = &r->texts[number];
	uint64_t free = 0;

	if (!__atomic_compare_exchange_n(&t->key, &free, key, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	t->len = len;
	for (uint32_t i = 0; i < len; i++)
		t->text[i] = ((const char *)key)[i];
	__atomic_fetch_or(&r->texts_used[number / 64], UINT64_C(1) << number % 64,
			  __ATOMIC_RELEASE);
	return true;
}

/* No more than there is room for, in whole characters: one goes on with bytes of the form 10…. */
static uint32_t cut_len(const char *text, uint32_t len)
{
	if (len <= WIRE_TEXT_BYTES)
		return len;
	for (len = WIRE_TEXT_BYTES; len && (text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

/*
 * The number of a name, 0: there are too many. What another thread, or what we have interrupted, is
 * filling in is passed by: nobody waits here, and a name may have two numbers.
 */
static uint32_t text_number(struct wire_region *r, uint64_t key, uint32_t len)
{
	uint64_t home = key * UINT64_C(0x9e3779b97f4a7c15) >> 52;

	if (key)
		len = cut_len((const char *)key, len);
	for (unsigned i = 0; key && i < MAX_TRIES; i++) {
		uint32_t number = (home + i) % WIRE_MAX_TEXTS;
		uint64_t have = __atomic_load_n(&r->texts[number].key, __ATOMIC_RELAXED);

		if (!number)
			continue;
		if (have == key && is_used(r, number) &&
		    is_same(&r->texts[number], (const char *)key, len))
			return number;
		if (!have && fill_text(r, number, key, len))
			return number;
	}
	return 0;
}

static unsigned nr_pieces(const struct wire_field *f)
{
	return f->kind == WIRE_FIELD_TEXT ? (f->len + PIECE_BYTES - 1) / PIECE_BYTES : 0;
}

/* The fields that we shall write: no more of them and of their texts than there may be. */
static unsigned take_fields(const struct wire_mark *m, struct wire_field to[WIRE_MARK_FIELDS])
{
	const struct wire_field *from = (const struct wire_field *)m->fields;
	uint32_t left = WIRE_MARK_TEXT_MAX;
	unsigned nr = 0;

	for (unsigned i = 0; i < m->nr_fields && i < WIRE_MARK_FIELDS; i++) {
		struct wire_field *f = &to[nr];

		if (from[i].kind == WIRE_FIELD_NONE)
			continue;
		*f = from[i];
		nr++;
		if (f->kind != WIRE_FIELD_TEXT)
			continue;
		if (f->len > left)
			f->len = left;
		left -= f->len;
	}
	return nr;
}

static uint64_t *write_text(uint64_t *at, const struct wire_field *f, uint64_t now)
{
	const unsigned char *text = (const unsigned char *)f->value;

	for (uint32_t from = 0; from < f->len; from += PIECE_BYTES) {
		at[0] = EVENT_WORD0(EV_TEXT, 0, now);
		at[1] = at[2] = 0;
		for (uint32_t i = 0; i < PIECE_BYTES && from + i < f->len; i++)
			at[1 + i / 8] |= (uint64_t)text[from + i] << i % 8 * 8;
		at += EVENT_WORDS_TEXT;
	}
	return at;
}

static uint64_t *write_field(uint64_t *at, struct wire_region *r, const struct wire_field *f,
			     uint64_t now)
{
	static const uint8_t flags[] = {
		[WIRE_FIELD_SIGNED] = EF_FIELD_SIGNED,
		[WIRE_FIELD_FLOAT] = EF_FIELD_FLOAT,
		[WIRE_FIELD_TEXT] = EF_FIELD_TEXT,
	};
	bool is_text = f->kind == WIRE_FIELD_TEXT;

	at[0] = EVENT_WORD0(EV_FIELD, f->kind <= WIRE_FIELD_TEXT ? flags[f->kind] : 0, now);
	at[1] = text_number(r, f->name, f->name_len);
	at[2] = is_text ? f->len : f->value;
	at += EVENT_WORDS_FIELD;
	return is_text ? write_text(at, f, now) : at;
}

void core_mark(const struct wire_mark *m)
{
	struct core_page *p = &core_page;
	unsigned kind = m->kind <= WIRE_SPAN_END ? EV_MARK + m->kind : EV_MARK;
	struct wire_thread *t = self(p, kind);
	struct wire_field fields[WIRE_MARK_FIELDS];
	unsigned words = EVENT_WORDS_MARK, nr;
	uint64_t limit, now, *at, *end;

	if (!t)
		return;
	nr = take_fields(m, fields);
	for (unsigned i = 0; i < nr; i++)
		words += EVENT_WORDS_FIELD + nr_pieces(&fields[i]) * EVENT_WORDS_TEXT;
	at = end = reserve(p, t, kind, words, 0, &limit);
	if (!at)
		return;
	now = ticks_now(p);
	for (unsigned i = 0; i < nr; i++)
		end = write_field(end, p->region, &fields[i], now);
	end[0] = EVENT_WORD0(kind, 0, now);
	end[1] = text_number(p->region, m->name, m->name_len);
	end[2] = m->id;
	publish(t, t->head + words, limit);
}
_Static_assert(EV_SPAN_START == EV_MARK + WIRE_SPAN_START && EV_SPAN_END == EV_MARK + WIRE_SPAN_END,
	       "one after the other");
_Static_assert(EVENT_WORDS_SPAN_START == EVENT_WORDS_MARK &&
		       EVENT_WORDS_SPAN_END == EVENT_WORDS_MARK,
	       "of one shape");
