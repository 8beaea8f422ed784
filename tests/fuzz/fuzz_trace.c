// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The reader of trace files against any bytes. Checksums would stop nearly all of them at the door,
 * so the first byte chooses: the rest is a file as it is, or it is cut into payloads, which get
 * correct headers and frames.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined ...; ./fuzz_trace -max_total_time=30
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "trace/format.h"
#include "trace/reader.h"

/* What the reader promises whatever the file: it ends, in order, and inside its own tables. */
static void climb(const struct trace *t)
{
	uint32_t nr_steps, nr_paths;
	const struct trace_step *steps = trace_get_steps(t, &nr_steps);
	const struct trace_path *paths = trace_get_paths(t, &nr_paths);

	for (uint32_t i = 0; i < nr_steps; i++)
		if (steps[i].outer != TRACE_NO_STEP && steps[i].outer >= i)
			abort();
	for (uint32_t i = 0; i < nr_paths; i++)
		for (uint32_t k = 0; k < paths[i].nr_steps; k++)
			if (paths[i].steps[k] >= nr_steps)
				abort();
}

static void read_all(const char *path)
{
	struct err e = ERR_INIT;
	struct trace *t = trace_open(path, &e);
	const struct event *evs;
	uint64_t time = 0, nr = 0;
	uint32_t nr_threads;
	size_t n;

	if (!t)
		return;
	trace_get_threads(t, &nr_threads);
	climb(t);
	while ((n = trace_read(t, &evs))) {
		nr += n;
		for (size_t i = 0; i < n; i++) {
			if (evs[i].time < time || evs[i].thread >= nr_threads ||
			    evs[i].kind >= EV_MAX || !event_descs[evs[i].kind].name)
				abort();
			time = evs[i].time;
		}
	}
	if (nr + trace_get_damage(t)->bad_events < trace_get_nr_events(t))
		abort();
	trace_close(t);
}

/* What a reader was given, as a number. */
static uint64_t mix_events(struct trace *t, uint64_t mix)
{
	const struct event *evs;
	size_t n;

	while ((n = trace_read(t, &evs)))
		for (size_t i = 0; i < n; i++)
			mix = (mix ^ evs[i].time ^ evs[i].task << 7 ^ evs[i].a << 13 ^ evs[i].kind ^
			       (uint64_t)evs[i].thread << 40) *
			      UINT64_C(0x9e3779b97f4a7c15);
	return mix;
}

static uint64_t mix_damage(const struct trace *t, uint64_t mix)
{
	const struct trace_damage *d = trace_get_damage(t);

	return mix + d->cut + d->bad_blocks * 3 + d->bad_events * 1000003 +
	       d->bytes_skipped * 1000000007;
}

/* In pieces it is the same: unless events missed their mark, which a damaged file may have made. */
static void read_pieces(const char *path, const struct strbuf *file, unsigned step)
{
	struct trace *whole = trace_open(path, NULL), *pieces = trace_new(NULL);
	uint64_t a = 1, b = 1;
	int rc = 0;

	for (size_t off = 0, n; off < file->len && rc == 0; off += n) {
		n = MIN((size_t)step, file->len - off);
		rc = trace_feed(pieces, file->s + off, n, NULL);
		if (rc == 0) {
			climb(pieces);
			b = mix_events(pieces, b);
		}
	}
	if (rc == 0)
		rc = trace_feed_end(pieces, NULL);
	if ((rc == 0) != (whole != NULL))
		abort();
	if (whole) {
		a = mix_damage(whole, mix_events(whole, a));
		b = mix_damage(pieces, mix_events(pieces, b));
		if (a != b && !trace_get_nr_late(pieces))
			abort();
	}
	trace_close(whole);
	trace_close(pieces);
}

static void add_block(struct strbuf *out, struct block_header *h, const void *raw, size_t len)
{
	static ZSTD_CCtx *zstd;
	size_t bound = ZSTD_compressBound(len);

	if (!zstd) {
		zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, -5);
	}
	strbuf_grow(out, BLOCK_HEADER_LEN + bound);
	h->codec = CODEC_ZSTD;
	h->raw_len = len;
	h->stored_len = ZSTD_compress2(zstd, out->s + out->len + BLOCK_HEADER_LEN, bound, raw, len);
	block_header_pack(h, (uint8_t *)out->s + out->len);
	out->len += BLOCK_HEADER_LEN + h->stored_len;
}

/* data: a row of { kind, thread, number of events, first tick, length (2), payload } */
static void add_blocks(struct strbuf *out, const uint8_t *data, size_t size)
{
	uint8_t head[FILE_HEADER_LEN] = FILE_MAGIC;

	put_le16(head + 8, FORMAT_MAJOR);
	put_le32(head + 12, FILE_HEADER_LEN);
	strbuf_add(out, head, sizeof(head));
	while (size >= 6) {
		struct block_header h = { .kind = data[0] % 5,
					  .thread = data[1],
					  .nr_events = data[2],
					  .first_tick = data[3] };
		size_t len = get_le16(data + 4);

		data += 6;
		size -= 6;
		len = MIN(len, size);
		add_block(out, &h, data, len);
		data += len;
		size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf file = STRBUF_INIT;
	char path[64];
	int fd;

	if (!size)
		return 0;
	if (data[0] & 1)
		add_blocks(&file, data + 1, size - 1);
	else
		strbuf_add(&file, data + 1, size - 1);
	fd = memfd_create("trace", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write_all(fd, file.s, file.len) < 0)
		abort();
	read_all(path);
	read_pieces(path, &file, 1 + data[0] * 3);
	close(fd);
	strbuf_release(&file);
	return 0;
}
