// SPDX-License-Identifier: MIT OR Apache-2.0
/* Walks over the blocks of a trace, as far as they have come. */
#include "trace/load.h"

#include <errno.h>
#include <unistd.h>

#define WINDOW_LEN 65536

bool load_payload(struct load *l, const struct load_block *b, uint8_t *raw)
{
	const struct block_header *h = &b->header;
	const void *stored = b->stored;

	if (h->codec != CODEC_ZSTD)
		return false;
	if (!stored) {
		strbuf_grow(&l->stored, h->stored_len);
		if (!source_read(&l->source, l->stored.s, h->stored_len, b->off))
			return false;
		stored = l->stored.s;
	}
	return ZSTD_decompressDCtx(l->zstd, raw, h->raw_len, stored, h->stored_len) == h->raw_len;
}

enum look {
	LOOK_BLOCK, /* a good header, and all of its block */
	LOOK_PART,  /* a good header, whose block runs past what has come */
	LOOK_NONE,
};

static enum look look_at(const struct load *l, const uint8_t *p, uint64_t off,
			 struct block_header *h)
{
	if (!block_header_unpack(h, p))
		return LOOK_NONE;
	return (uint64_t)h->header_len + h->stored_len <= l->source.size - off ? LOOK_BLOCK
									       : LOOK_PART;
}

/* The rest of an incomplete block may still come. */
static bool is_worth_it(const struct load *l, enum look look)
{
	return look == LOOK_BLOCK || (look == LOOK_PART && !l->source.is_final);
}

/* Where the next bytes are that were ever written: no block begins in a hole of the file. */
static uint64_t skip_hole(const struct load *l, uint64_t off)
{
	off_t data =
		l->source.kind == SOURCE_FILE ? lseek(l->source.fd, off, SEEK_DATA) : (off_t)off;

	if (data < 0)
		return errno == ENXIO ? l->source.size : off;
	return MAX((uint64_t)data, off);
}

/*
 * Where the next block begins at or after off, if one does. Else how far it is sure that none does:
 * a header may have come in part.
 */
static uint64_t find_block(const struct load *l, uint64_t off)
{
	uint64_t size = l->source.size, found = size;
	uint8_t *window = xmalloc(MIN((uint64_t)WINDOW_LEN, size));
	struct block_header h;

	while (found == size && (off = skip_hole(l, off)) + BLOCK_HEADER_LEN <= size) {
		size_t len = MIN((uint64_t)WINDOW_LEN, size - off);
		size_t last = len - BLOCK_HEADER_LEN;

		if (!source_read(&l->source, window, len, off))
			break;
		for (size_t i = 0; i <= last && found == size; i++) {
			const uint8_t *p = memchr(window + i, BLOCK_MAGIC & 0xff, last - i + 1);

			if (!p)
				break;
			i = p - window;
			if (is_worth_it(l, look_at(l, p, off + i, &h)))
				found = off + i;
		}
		off += last + 1;
	}
	free(window);
	if (found < size || l->source.is_final)
		return found;
	return size - (BLOCK_HEADER_LEN - 1);
}

static uint8_t *keep_payload(const struct load *l, const struct block_header *h, uint64_t off)
{
	uint8_t *stored;

	if (l->source.kind == SOURCE_FILE)
		return NULL;
	stored = xmalloc(h->stored_len + 1);
	source_read(&l->source, stored, h->stored_len, off);
	return stored;
}

/* The definition of their thread may be lost, but not those of many threads without events. */
static void load_events(struct load *l, const struct block_header *h, uint64_t off)
{
	if (h->thread <= l->nr_blocks || load_is_plausible(l, DEF_THREAD, h->thread)) {
		vec_push(&l->blocks, (struct load_block){ .off = off,
							  .stored = keep_payload(l, h, off),
							  .header = *h });
		l->nr_blocks++;
		load_reach_thread(l, h->thread);
		return;
	}
	l->damage.bad_blocks++;
	l->damage.bad_events += h->nr_events;
}

static void load_block(struct load *l, const struct block_header *h, uint64_t off)
{
	uint8_t *raw;
	bool is_good;

	if (h->kind == BLOCK_EVENTS) {
		load_events(l, h, off);
		return;
	}
	if (h->kind != BLOCK_DEFS && h->kind != BLOCK_END)
		return; /* of a newer version */
	strbuf_grow(&l->raw, h->raw_len);
	raw = (uint8_t *)l->raw.s;
	is_good = load_payload(l, &(struct load_block){ .off = off, .header = *h }, raw) &&
		  (h->kind == BLOCK_DEFS ? load_defs : load_end)(l, raw, h->raw_len);
	l->damage.bad_blocks += !is_good;
	l->nr_lost_bytes += is_good ? 0 : h->stored_len;
}

static void load_blocks(struct load *l)
{
	uint8_t head[BLOCK_HEADER_LEN];
	struct block_header h;

	while (l->off < l->source.size) {
		enum look look = LOOK_PART;

		if (l->source.size - l->off >= sizeof(head))
			look = source_read(&l->source, head, sizeof(head), l->off)
				       ? look_at(l, head, l->off, &h)
				       : LOOK_NONE;
		if (look == LOOK_BLOCK) {
			load_block(l, &h, l->off + h.header_len);
			l->off += h.header_len + h.stored_len;
		} else if (is_worth_it(l, look)) {
			break;
		} else {
			uint64_t next = find_block(l, l->off + 1);

			l->damage.bytes_skipped += next - l->off;
			l->nr_lost_bytes += next - l->off;
			l->off = next;
		}
	}
	/* not for each block: what is left moves */
	source_drop(&l->source, l->off);
}

static int load_header(struct load *l, struct err *e)
{
	uint8_t head[FILE_HEADER_LEN];
	uint16_t major;

	if (l->source.size < sizeof(head))
		return err_set(e, ERR_NOT_TRACE,
			       l->source.size ? "%s is too short to be a trace of futrace"
					      : "%s is empty, not a trace of futrace",
			       l->name);
	if (!source_read(&l->source, head, sizeof(head), 0))
		return err_sys(e, "cannot read %s", l->name);
	if (memcmp(head, FILE_MAGIC, FILE_MAGIC_LEN) != 0)
		return err_set(e, ERR_NOT_TRACE,
			       "%s is not a trace of futrace; 'futrace record' makes one", l->name);
	major = get_le16(head + 8);
	if (major != FORMAT_MAJOR)
		return err_set(
			e, ERR_VERSION,
			"%s has trace format %u, but this futrace reads format %u; use a newer one",
			l->name, major, FORMAT_MAJOR);
	/* With a damaged length the search for a block begins right behind the header. */
	l->off = FILE_HEADER_LEN;
	if (get_le32(head + 12) >= FILE_HEADER_LEN && get_le32(head + 12) <= HEADER_LEN_MAX)
		l->off = get_le32(head + 12);
	l->has_header = true;
	return 0;
}

int load_scan(struct load *l, struct err *e)
{
	bool is_final = l->source.is_final;

	if (!l->has_header && (is_final || l->source.size >= FILE_HEADER_LEN) && load_header(l, e))
		return -1;
	if (!l->has_header)
		return 0;
	load_blocks(l);
	if (is_final && !l->has_meta && !l->nr_blocks)
		return err_set(e, ERR_BAD_TRACE, "%s is a trace of futrace with nothing in it",
			       l->name);
	l->damage.cut = is_final && !l->has_end;
	l->damage.is_live = l->damage.cut && l->source.is_live;
	return 0;
}

static int start(struct load *l, struct err *e)
{
	strbuf_init(&l->stored);
	strbuf_init(&l->raw);
	load_init_defs(l);
	l->zstd = ZSTD_createDCtx();
	return l->zstd ? 0 : err_set(e, ERR_SYS, "cannot start zstd: out of memory");
}

int load_open(struct load *l, const char *path, bool follow, struct err *e)
{
	*l = (struct load){ .name = xstrdup(path) };
	if (start(l, e) < 0) {
		l->source = (struct source)SOURCE_INIT;
		return -1;
	}
	return source_open(&l->source, path, follow, e);
}

int load_open_fed(struct load *l, struct err *e)
{
	*l = (struct load){ .name = xstrdup("the recording") };
	source_init_fed(&l->source);
	return start(l, e);
}

static void release_all_but_source(struct load *l)
{
	ZSTD_freeDCtx(l->zstd);
	strbuf_release(&l->stored);
	strbuf_release(&l->raw);
	vec_each (s, &l->strings)
		free(*s);
	vec_release(&l->strings);
	vec_release(&l->argv);
	vec_each (b, &l->blocks)
		free(b->stored);
	vec_release(&l->blocks);
	vec_release(&l->objects);
	vec_release(&l->runtimes);
	vec_release(&l->types);
	vec_release(&l->threads);
	vec_release(&l->anchors);
	vec_release(&l->cpu);
	vec_release(&l->stands);
	vec_release(&l->stacks);
	vec_release(&l->instances);
	vec_release(&l->steps);
	vec_each (p, &l->paths)
		free((void *)p->steps);
	vec_release(&l->paths);
	vec_release(&l->futures);
}

int load_restart(struct load *l, struct err *e)
{
	struct source source = l->source;
	char *name = l->name;

	release_all_but_source(l);
	*l = (struct load){ .name = name, .source = source };
	return start(l, e);
}

void load_release(struct load *l)
{
	release_all_but_source(l);
	source_release(&l->source);
	free(l->name);
}
