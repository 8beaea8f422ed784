// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/scan.h"

#include <stdio.h>

bool scan_is_code(const struct finding *f, const struct scan_place *at, unsigned i)
{
	if (f->img->is_dyn && !image_is_relocated(at->segment, at->va + 8 * i))
		return false;
	return image_is_code(f->img, scan_load(at->p + 8 * i));
}

bool scan_is_got(const struct finding *f, uint64_t va)
{
	const struct image_section *got = image_section(f->img, ".got");

	return got && va >= got->va && va < got->va + got->size_bytes;
}

static void scan_segment(struct finding *f, const struct image_segment *s, unsigned nr_words,
			 scan_fn *fn, void *arg)
{
	const uint8_t *data = f->img->data + s->off;
	uint64_t at = (8 - s->va % 8) % 8;

	while (at + 8 * nr_words <= s->file_bytes) {
		uint64_t word = at / 8;
		struct scan_place place = { s, s->va + at, s->file_bytes - at, data + at };

		/* Words without any relocation are skipped 64 at a time. */
		if (f->img->is_dyn && s->va % 8 == 0 && word % 64 == 0 && !s->relocated[word / 64])
			at += 512;
		else if (image_is_code(f->img, scan_load(data + at)) && fn(f, arg, &place))
			at += 8 * nr_words;
		else
			at += 8;
	}
}

void scan_tables(struct finding *f, unsigned nr_words, scan_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < f->img->nr_segments; i++) {
		const struct image_segment *s = &f->img->segments[i];

		/* Without relocations a table may be among constants, which may lie beside code. */
		if (f->img->is_dyn ? s->relocated && !s->exec : true)
			scan_segment(f, s, nr_words, fn, arg);
	}
}

struct found_table scan_waker(uint64_t va, enum wire_table_kind kind)
{
	return (struct found_table){
		.plan = { .va = va,
			  .nr_words = WAKER_WORDS,
			  .code_mask = (1 << WAKER_WORDS) - 1,
			  .type = EVENT_TYPE_NONE,
			  .kind = kind,
			  .slot_poll = WIRE_NO_SLOT,
			  .slot_schedule = WIRE_NO_SLOT,
			  .slot_dealloc = WIRE_NO_SLOT,
			  .slot_shutdown = WIRE_NO_SLOT,
			  .slot_abort = WIRE_NO_SLOT,
			  .slot_wake = 1,
			  .slot_wake_by_ref = 2 },
		.name = "",
		.scheduler = "",
		.file = "",
	};
}

/* "1.54.1/src/": returns the length of the version, 0 when there is none. */
static size_t version_at(const char *s, size_t len)
{
	size_t n = 0;
	unsigned dots = 0;

	while (n < len && n < 32 && ((s[n] >= '0' && s[n] <= '9') || s[n] == '.'))
		dots += s[n++] == '.';
	return dots == 2 && len - n >= 5 && memcmp(s + n, "/src/", 5) == 0 ? n : 0;
}

/*
 * Panic messages name their source file, and cargo's folders are named after the version. A copy
 * inside the program's own workspace has a relative path, with the end of any text before it.
 */
static void scan_text(const char *p, const char *end, const char *crate, struct strbuf *versions)
{
	char *mark = xasprintf("%s.", crate);
	size_t name = strrchr(mark, '-') + 1 - mark;
	const char *start = p;

	while ((p = memmem(p, end - p, mark, strlen(mark)))) {
		bool is_other = p > start && (p[-1] == '-' || p[-1] == '_'); /* x-tokio-1.0 */
		char version[40];
		size_t n;

		p += name;
		n = version_at(p, end - p);
		snprintf(version, sizeof(version), "%.*s", (int)n, p);
		if (n && !is_other && !str_has_item(versions->s, version, " + "))
			strbuf_addf(versions, "%s%s", versions->len ? " + " : "", version);
	}
	free(mark);
}

/* .rodata, or without section headers whatever is not written to; older linkers put it beside code.
 */
void scan_versions(const struct finding *f, const char *crate, struct strbuf *versions)
{
	const struct image_section *rodata = image_section(f->img, ".rodata");
	const char *p = (const char *)image_section_data(f->img, rodata);

	if (p) {
		scan_text(p, p + rodata->size_bytes, crate, versions);
		return;
	}
	for (uint32_t i = 0; i < f->img->nr_segments; i++) {
		const struct image_segment *s = &f->img->segments[i];

		p = (const char *)f->img->data + s->off;
		if (!s->write)
			scan_text(p, p + s->file_bytes, crate, versions);
	}
}
