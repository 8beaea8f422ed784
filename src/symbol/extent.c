// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * .eh_frame has an entry for each function: an FDE, with its address and size. It refers to a CIE,
 * which says how the address is written. Functions of programs that do not unwind (panic = "abort")
 * have none: such a one must be called or pointed to, and end as a function does.
 */
#include "symbol/extent.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "symbol/code_decode.h"

#define ALIGNMENT  16 /* of functions, with padding before */
#define ENC_PCREL  0x10
#define ENC_FORMAT 0x07 /* the size; bit 3: signed */
#define ENC_SIGNED 0x08

struct extent {
	uint64_t va, end;
};

struct extents {
	const struct image *img;
	VEC(struct extent) unwound; /* from unwind tables, sorted */
	VEC(uint64_t) entries;	    /* what calls and pointers lead to, sorted */
	bool has_entries;	    /* they were looked for */
};

/* ---- unwind tables ---- */

/* Bytes of the section. Whatever reaches beyond it is broken. */
struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint64_t take(struct bytes *b, unsigned nr)
{
	uint64_t value = 0;

	if (b->is_bad || (uint64_t)(b->end - b->at) < nr) {
		b->is_bad = true;
		return 0;
	}
	memcpy(&value, b->at, nr);
	b->at += nr;
	return value;
}

static void skip_leb(struct bytes *b)
{
	while (take(b, 1) & 0x80)
		;
}

/* 0: it is written in a way that compilers do not use here. */
static unsigned encoded_bytes(uint8_t encoding)
{
	static const uint8_t bytes[ENC_FORMAT + 1] = { 8, 0, 2, 4, 8 };

	return encoding & 0x60 ? 0 : bytes[encoding & ENC_FORMAT];
}

static uint64_t take_encoded(struct bytes *b, uint8_t encoding)
{
	unsigned nr = encoded_bytes(encoding), unused = 64 - 8 * nr;
	uint64_t value;

	if (!nr)
		b->is_bad = true;
	value = take(b, nr);
	return encoding & ENC_SIGNED && nr ? (uint64_t)((int64_t)(value << unused) >> unused)
					   : value;
}

/* The encoding of addresses in a CIE's entries. b begins behind the CIE's length and id. */
static bool read_encoding(struct bytes b, uint8_t *encoding)
{
	uint8_t version = take(&b, 1);
	const char *augmentation = (const char *)b.at;
	const char *end = b.is_bad ? NULL : memchr(b.at, 0, b.end - b.at);

	*encoding = 0;
	if (!end || (version != 1 && version != 3))
		return false;
	b.at = (const uint8_t *)end + 1;
	skip_leb(&b);
	skip_leb(&b);
	if (version == 1)
		take(&b, 1);
	else
		skip_leb(&b);
	if (*augmentation == 'z')
		skip_leb(&b);
	else if (*augmentation)
		return false;
	for (const char *a = augmentation; a < end; a++) {
		if (*a == 'R')
			*encoding = take(&b, 1);
		else if (*a == 'L')
			take(&b, 1);
		else if (*a == 'P')
			take_encoded(&b, take(&b, 1));
	}
	return !b.is_bad;
}

static void read_fde(struct extents *e, const struct image_section *s, const uint8_t *data,
		     struct bytes b)
{
	const uint8_t *id_at = b.at;
	uint64_t back = take(&b, 4), at, va, nr_bytes;
	struct bytes cie = { .at = id_at - back, .end = data + s->size_bytes };
	uint8_t encoding;

	if (back > (uint64_t)(id_at - data))
		return;
	/* behind its length is its id, and that is 0 */
	if (take(&cie, 4) == UINT32_MAX || take(&cie, 4) || !read_encoding(cie, &encoding))
		return;
	at = s->va + (b.at - data);
	va = take_encoded(&b, encoding);
	if (encoding & ENC_PCREL)
		va += at;
	nr_bytes = take_encoded(&b, encoding & ENC_FORMAT);
	if (!b.is_bad && nr_bytes && va + nr_bytes > va)
		vec_push(&e->unwound, (struct extent){ va, va + nr_bytes });
}

static int by_va(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->va != y->va)
		return x->va < y->va ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void read_tables(struct extents *e)
{
	const struct image_section *s = image_section(e->img, ".eh_frame");
	const uint8_t *data = image_section_data(e->img, s);
	struct bytes b = { .at = data, .end = data ? data + s->size_bytes : NULL };

	while (b.at < b.end) {
		uint64_t len = take(&b, 4);
		struct bytes entry = { .at = b.at, .end = b.at + len };

		/* the last is empty; no compiler writes the longer form */
		if (!len || len > (uint64_t)(b.end - b.at))
			break;
		b.at = entry.end;
		if (len > 4 && take(&(struct bytes){ entry.at, entry.end, false }, 4))
			read_fde(e, s, data, entry);
	}
	if (e->unwound.nr)
		qsort(e->unwound.v, e->unwound.nr, sizeof(*e->unwound.v), by_va);
}

/* ---- calls and pointers ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Instructions are not decoded: any such byte is tried, and counts if it leads to code. */
static void add_called(struct extents *e, const struct image_segment *s, const uint8_t *p)
{
	for (uint64_t at = 0; at + 5 <= s->file_bytes; at++) {
		int32_t distance;
		uint64_t to;

		if (p[at] != 0xe8)
			continue;
		memcpy(&distance, p + at + 1, 4);
		to = s->va + at + 5 + distance;
		if (image_is_code(e->img, to))
			vec_push(&e->entries, to);
	}
}

static void add_pointers(struct extents *e, const struct image_segment *s, const uint8_t *p)
{
	for (uint64_t at = -s->va % 8; at + 8 <= s->file_bytes; at += 8) {
		uint64_t to;

		memcpy(&to, p + at, 8);
		if (image_is_code(e->img, to) &&
		    (!e->img->is_dyn || image_is_relocated(s, s->va + at)))
			vec_push(&e->entries, to);
	}
}

static void find_entries(struct extents *e)
{
	e->has_entries = true;
	for (uint32_t i = 0; i < e->img->nr_segments; i++) {
		const struct image_segment *s = &e->img->segments[i];

		if (s->exec)
			add_called(e, s, e->img->data + s->off);
		else
			add_pointers(e, s, e->img->data + s->off);
	}
	if (e->entries.nr)
		qsort(e->entries.v, e->entries.nr, sizeof(*e->entries.v), by_number);
}

static bool is_entered(struct extents *e, uint64_t va)
{
	if (!e->has_entries)
		find_entries(e);
	return e->entries.nr &&
	       bsearch(&va, e->entries.v, e->entries.nr, sizeof(*e->entries.v), by_number);
}

static bool begins_unwound(const struct extents *e, uint64_t va)
{
	size_t i = partition_point(k, e->unwound.nr, e->unwound.v[k].va < va);

	return i < e->unwound.nr && e->unwound.v[i].va == va;
}

static bool is_padding(const struct instruction *i)
{
	return i->in.mnemonic == ZYDIS_MNEMONIC_NOP || i->in.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* A call may be one that never returns. */
static bool is_last(const struct instruction *i)
{
	return i->in.meta.category == ZYDIS_CATEGORY_CALL ||
	       i->in.meta.category == ZYDIS_CATEGORY_RET ||
	       i->in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       i->in.mnemonic == ZYDIS_MNEMONIC_UD2;
}

/* Does nothing follow but what fills up to where the next function may begin? */
static bool is_followed(struct extents *e, uint64_t end)
{
	uint64_t next = (end + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT;
	struct instruction i;

	if (is_entered(e, end) || begins_unwound(e, end) || !image_is_code(e->img, end))
		return true;
	for (uint64_t at = end; at < next; at += i.in.length) {
		const uint8_t *p = image_at(e->img, at, next - at);

		if (!p || !code_decode(p, next - at, &i) || !is_padding(&i))
			return false;
	}
	return next > end;
}

static bool is_whole(struct extents *e, uint64_t va, uint64_t nr_bytes)
{
	const uint8_t *code = image_at(e->img, va, nr_bytes);
	struct instruction i;

	for (uint64_t at = 0; at < nr_bytes; at += i.in.length)
		if (!code_decode(code + at, nr_bytes - at, &i))
			return false;
	return is_last(&i) && is_followed(e, va + nr_bytes);
}

/* ---- all ---- */

struct extents *extents_new(const struct image *img)
{
	struct extents *e = xcalloc(1, sizeof(*e));

	e->img = img;
	read_tables(e);
	return e;
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	vec_release(&e->unwound);
	vec_release(&e->entries);
	free(e);
}

bool extents_agree(struct extents *e, uint64_t va, uint64_t nr_bytes)
{
	struct extent key = { va, va + nr_bytes };
	size_t i = partition_point(k, e->unwound.nr, by_va(&e->unwound.v[k], &key) < 0);

	if (!nr_bytes || !image_is_code(e->img, va) || !image_at(e->img, va, nr_bytes))
		return false;
	if (i < e->unwound.nr && by_va(&e->unwound.v[i], &key) == 0)
		return true;
	/* in, or around, what is another function */
	if ((i < e->unwound.nr && e->unwound.v[i].va < key.end) ||
	    (i && e->unwound.v[i - 1].end > va))
		return false;
	return is_entered(e, va) && is_whole(e, va, nr_bytes);
}
