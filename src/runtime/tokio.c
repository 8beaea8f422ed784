// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tokio 1.23 and later. A task header points (+16) to a static table of its future type:
 *
 *	0 poll  1 schedule  2 dealloc  3 try_read_output  4 drop_join_handle_slow
 *	5 drop_abort_handle  6 shutdown  7 trailer_offset  8 scheduler_offset  9 id_offset
 *	[10 spawn_location_offset: tokio_unstable since 1.46]
 *
 * That shape, seven addresses of code and three small offsets that must agree with each other, is
 * met by nothing else (0 in 1.6 million relocations of programs without Tokio), so no symbol is
 * needed. Earlier releases have other tables; they are named, not hooked.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tokio.h"

enum { WORD_TRAILER = 7, WORD_SCHEDULER, WORD_ID, NR_WORDS, WORD_LOCATION = 10 };

#define HEADER_VTABLE_OFF 16
#define OLDEST_MINOR	  23

static uint64_t load(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

/*
 * Is there a task table at this word? In a relocatable file every address must be a relocated word.
 */
static bool is_table(const struct image *img, const struct image_segment *s, uint64_t va,
		     const uint8_t *p)
{
	uint64_t trailer = load(p + 8 * WORD_TRAILER), scheduler = load(p + 8 * WORD_SCHEDULER),
		 id = load(p + 8 * WORD_ID);

	if ((trailer | scheduler | id) % 8 || scheduler < 24 || scheduler > 4096 ||
	    id < scheduler || id > scheduler + 128 || trailer <= id || trailer >= 1 << 26)
		return false;
	for (unsigned i = 0; i < NR_WORDS; i++) {
		bool must = i < TOKIO_NR_CODE;

		if (img->is_dyn && image_is_relocated(s, va + 8 * i) != must)
			return false;
		if (must && !image_is_code(img, load(p + 8 * i)))
			return false;
	}
	return true;
}

static void add_table(struct finding *f, const struct image_segment *s, uint64_t va,
		      const uint8_t *p, uint64_t left)
{
	struct found_table t = { .name = "", .scheduler = "", .file = "" };
	struct wire_table *w = &t.plan;

	w->va = va;
	w->nr_words = NR_WORDS;
	for (unsigned i = 0; i < NR_WORDS; i++)
		w->words[i] = load(p + 8 * i);
	/* The word behind the table; whether it belongs to it is decided when all are found. */
	if (left >= 8 * (WORD_LOCATION + 1) && !image_is_relocated(s, va + 8 * WORD_LOCATION))
		w->words[WORD_LOCATION] = load(p + 8 * WORD_LOCATION);
	w->code_mask = (1 << TOKIO_NR_CODE) - 1;
	w->type = EVENT_TYPE_NONE;
	w->kind = WIRE_TABLE_TOKIO;
	w->slot_poll = TOKIO_POLL;
	w->slot_schedule = TOKIO_SCHEDULE;
	w->slot_dealloc = TOKIO_DEALLOC;
	w->slot_shutdown = TOKIO_SHUTDOWN;
	w->slot_wake = w->slot_wake_by_ref = WIRE_NO_SLOT;
	w->vtable_off = HEADER_VTABLE_OFF;
	w->id_off = w->words[WORD_ID];
	w->stage_off = w->id_off + 8;
	w->trailer_off = w->words[WORD_TRAILER];
	/*
	 * Between scheduler and id lies the scheduler handle: one Arc for tasks; BlockingSchedule
	 * is empty up to 1.39 and two words since.
	 */
	t.kind = w->words[WORD_ID] - w->words[WORD_SCHEDULER] == 8 ? TRACE_TASK : TRACE_BLOCKING;
	if (t.kind == TRACE_BLOCKING)
		t.scheduler = "blocking";
	vec_push(&f->tables, t);
}

static void scan_segment(struct finding *f, const struct image_segment *s)
{
	const uint8_t *data = f->img->data + s->off;
	uint64_t at = (8 - s->va % 8) % 8;

	while (at + 8 * NR_WORDS <= s->file_bytes) {
		uint64_t word = at / 8;

		/* Words without any relocation are skipped 64 at a time. */
		if (f->img->is_dyn && s->va % 8 == 0 && word % 64 == 0 &&
		    !s->relocated[word / 64]) {
			at += 512;
			continue;
		}
		if (image_is_code(f->img, load(data + at)) &&
		    is_table(f->img, s, s->va + at, data + at)) {
			add_table(f, s, s->va + at, data + at, s->file_bytes - at);
			at += 8 * NR_WORDS;
		} else {
			at += 8;
		}
	}
}

/* tokio_unstable is a property of the build, so all tables have the eleventh word or none has. */
static bool settle_unstable(struct finding *f, size_t first)
{
	for (size_t i = first; i < f->tables.nr; i++)
		if (f->tables.v[i].plan.words[WORD_LOCATION] !=
		    f->tables.v[i].plan.words[WORD_ID] + 8)
			break;
		else if (i + 1 == f->tables.nr) {
			for (i = first; i < f->tables.nr; i++) {
				f->tables.v[i].plan.nr_words = WORD_LOCATION + 1;
				f->tables.v[i].plan.stage_off = f->tables.v[i].plan.id_off + 16;
			}
			return true;
		}
	for (size_t i = first; i < f->tables.nr; i++)
		f->tables.v[i].plan.words[WORD_LOCATION] = 0;
	return false;
}

/* "tokio-1.54.1/src/": returns the length of the version, 0 when there is none. */
static size_t version_at(const char *s, size_t len)
{
	size_t n = 0;
	unsigned dots = 0;

	while (n < len && n < 32 && ((s[n] >= '0' && s[n] <= '9') || s[n] == '.'))
		dots += s[n++] == '.';
	return dots == 2 && len - n >= 5 && memcmp(s + n, "/src/", 5) == 0 ? n : 0;
}

/* Panic messages name their source file, and cargo's folders are named after the version. */
static void scan_versions(const char *p, const char *end, struct strbuf *versions)
{
	static const char mark[] = "/tokio-1.";

	while ((p = memmem(p, end - p, mark, sizeof(mark) - 1))) {
		char version[40];
		size_t n;

		p += strlen("/tokio-");
		n = version_at(p, end - p);
		snprintf(version, sizeof(version), "%.*s", (int)n, p);
		if (n && !strstr(versions->s, version))
			strbuf_addf(versions, "%s%s", versions->len ? " + " : "", version);
	}
}

/* .rodata, or without section headers whatever is not written to; older linkers put it beside code.
 */
static void add_versions(struct finding *f, struct strbuf *versions)
{
	const struct image_section *rodata = image_section(f->img, ".rodata");
	const char *p = (const char *)image_section_data(f->img, rodata);

	if (p) {
		scan_versions(p, p + rodata->size_bytes, versions);
		return;
	}
	for (uint32_t i = 0; i < f->img->nr_segments; i++) {
		const struct image_segment *s = &f->img->segments[i];

		p = (const char *)f->img->data + s->off;
		if (!s->write)
			scan_versions(p, p + s->file_bytes, versions);
	}
}

static bool is_too_old(const char *versions)
{
	unsigned minor;

	return sscanf(versions, "1.%u.", &minor) == 1 && minor < OLDEST_MINOR;
}

static const char *no_table_note(const char *versions)
{
	if (is_too_old(versions))
		return "its task tables have another shape; Tokio 1.23 and later can be recorded";
	return "Tokio's code is inside, but no task is ever spawned with it";
}

static void recognise(struct finding *f)
{
	size_t first = f->tables.nr;
	struct found_runtime r = { .name = "tokio", .note = "" };
	struct strbuf versions = STRBUF_INIT;

	for (uint32_t i = 0; i < f->img->nr_segments; i++) {
		const struct image_segment *s = &f->img->segments[i];

		/* Without relocations a table may be among constants, which may lie beside code. */
		if (f->img->is_dyn ? s->relocated && !s->exec : true)
			scan_segment(f, s);
	}
	add_versions(f, &versions);
	r.nr_tables = f->tables.nr - first;
	r.version = finding_string(f, versions.s);
	if (r.nr_tables)
		r.unstable = settle_unstable(f, first);
	else
		r.note = no_table_note(versions.s);
	for (size_t i = first; i < f->tables.nr; i++)
		f->tables.v[i].runtime = f->runtimes.nr;
	if (r.nr_tables || versions.len)
		vec_push(&f->runtimes, r);
	strbuf_release(&versions);
}

const struct runtime runtime_tokio = {
	.name = "tokio",
	.recognise = recognise,
	.give_names = tokio_give_names,
};
