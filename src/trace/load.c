// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Walks over the blocks of a trace file. It reads by pread, not by mmap: a file that is cut while
 * it is read then gives a short count instead of a SIGBUS.
 */
#include "trace/load.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define WINDOW_LEN 65536

bool load_payload(struct load *l, const struct block_header *h, uint64_t off, uint8_t *raw)
{
	/* The scan saw that the file has so many bytes. */
	strbuf_grow(&l->stored, h->stored_len);
	if (h->codec != CODEC_ZSTD || io_pread_all(l->fd, l->stored.s, h->stored_len, off) < 0)
		return false;
	return ZSTD_decompressDCtx(l->zstd, raw, h->raw_len, l->stored.s, h->stored_len) ==
	       h->raw_len;
}

/* True when a good header begins at p, and its block ends inside the file. */
static bool is_block(const struct load *l, const uint8_t *p, uint64_t off, struct block_header *h)
{
	return block_header_unpack(h, p) &&
	       (uint64_t)h->header_len + h->stored_len <= l->size - off;
}

/* Where the next bytes are that were ever written: no block begins in a hole of the file. */
static uint64_t skip_hole(const struct load *l, uint64_t off)
{
	off_t data = lseek(l->fd, off, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? l->size : off;
	return MAX((uint64_t)data, off);
}

/* Where the next block begins at or after off; the file's size when there is none. */
static uint64_t find_block(const struct load *l, uint64_t off)
{
	uint8_t *window = xmalloc(MIN((uint64_t)WINDOW_LEN, l->size));
	uint64_t found = l->size;
	struct block_header h;

	while (found == l->size && (off = skip_hole(l, off)) + BLOCK_HEADER_LEN <= l->size) {
		size_t len = MIN((uint64_t)WINDOW_LEN, l->size - off);
		size_t last = len - BLOCK_HEADER_LEN;

		if (io_pread_all(l->fd, window, len, off) < 0)
			break;
		for (size_t i = 0; i <= last && found == l->size; i++) {
			const uint8_t *p = memchr(window + i, BLOCK_MAGIC & 0xff, last - i + 1);

			if (!p)
				break;
			i = p - window;
			if (is_block(l, p, off + i, &h))
				found = off + i;
		}
		off += last + 1;
	}
	free(window);
	return found;
}

/* The definition of their thread may be lost, but not those of many threads without events. */
static void load_events(struct load *l, const struct block_header *h, uint64_t off)
{
	if (h->thread <= l->blocks.nr || load_is_plausible(l, DEF_THREAD, h->thread)) {
		vec_push(&l->blocks, (struct load_block){ .off = off, .header = *h });
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
	is_good = load_payload(l, h, off, raw) &&
		  (h->kind == BLOCK_DEFS ? load_defs : load_end)(l, raw, h->raw_len);
	l->damage.bad_blocks += !is_good;
	l->nr_lost_bytes += is_good ? 0 : h->stored_len;
}

static void load_blocks(struct load *l, uint64_t off)
{
	uint8_t head[BLOCK_HEADER_LEN];
	struct block_header h;

	while (off < l->size) {
		if (l->size - off >= sizeof(head) &&
		    io_pread_all(l->fd, head, sizeof(head), off) == 0 &&
		    is_block(l, head, off, &h)) {
			load_block(l, &h, off + h.header_len);
			off += h.header_len + h.stored_len;
		} else {
			uint64_t next = find_block(l, off + 1);

			l->damage.bytes_skipped += next - off;
			l->nr_lost_bytes += next - off;
			off = next;
		}
	}
}

static int load_header(struct load *l, const char *path, uint64_t *first, struct err *e)
{
	uint8_t head[FILE_HEADER_LEN];
	uint16_t major;

	if (l->size < sizeof(head))
		return err_set(e, ERR_NOT_TRACE,
			       l->size ? "%s is too short to be a trace of futrace"
				       : "%s is empty, no trace of futrace",
			       path);
	if (io_pread_all(l->fd, head, sizeof(head), 0) < 0)
		return err_sys(e, "cannot read %s", path);
	if (memcmp(head, FILE_MAGIC, FILE_MAGIC_LEN) != 0)
		return err_set(e, ERR_NOT_TRACE,
			       "%s is no trace of futrace; 'futrace record' makes one", path);
	major = get_le16(head + 8);
	if (major != FORMAT_MAJOR)
		return err_set(
			e, ERR_VERSION,
			"%s has trace format %u, but this futrace reads format %u; use a newer one",
			path, major, FORMAT_MAJOR);
	/* With a damaged length the search for a block begins right behind the header. */
	if (get_le32(head + 12) >= FILE_HEADER_LEN && get_le32(head + 12) <= HEADER_LEN_MAX)
		*first = get_le32(head + 12);
	return 0;
}

int load_open(struct load *l, const char *path, struct err *e)
{
	struct stat st;
	uint64_t first = FILE_HEADER_LEN;

	*l = (struct load){ .fd = io_open(path), .stored = STRBUF_INIT, .raw = STRBUF_INIT };
	if (l->fd < 0)
		return errno == ENOENT
			       ? err_sys(e, "cannot open %s (make it by 'futrace record')", path)
			       : err_sys(e, "cannot open %s", path);
	if (fstat(l->fd, &st) < 0)
		return err_sys(e, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_TRACE, "%s is no regular file, so no trace of futrace",
			       path);
	l->size = st.st_size;
	if (load_header(l, path, &first, e) < 0)
		return -1;
	l->zstd = ZSTD_createDCtx();
	if (!l->zstd)
		return err_set(e, ERR_SYS, "cannot start zstd: out of memory");
	load_blocks(l, MIN(first, l->size));
	if (!l->has_meta && !l->blocks.nr)
		return err_set(e, ERR_BAD_TRACE, "%s is a trace of futrace with nothing in it",
			       path);
	l->damage.cut = !l->has_end;
	load_finish_defs(l);
	return 0;
}

void load_release(struct load *l)
{
	if (l->fd >= 0)
		close(l->fd);
	ZSTD_freeDCtx(l->zstd);
	strbuf_release(&l->stored);
	strbuf_release(&l->raw);
	vec_each (s, &l->strings)
		free(*s);
	vec_release(&l->strings);
	vec_release(&l->argv);
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
