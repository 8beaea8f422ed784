// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A trace file is hostile input: whatever its bytes, reading ends, stays in order, and counts what
 * was wrong.
 */
#include "make.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/strbuf.h"
#include "trace/format.h"

static uint64_t digest; /* of the events that read_all read last */

static void add_digest(const struct event *ev)
{
	const uint64_t v[] = { ev->time, ev->thread, ev->kind, ev->flags,
			       ev->type, ev->task,   ev->a,    ev->b };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		digest = (digest ^ v[i]) * UINT64_C(0x100000001b3);
}

/* Reads all there is; -1 when it does not open. */
static int64_t read_all(const char *path, struct trace_damage *damage)
{
	struct err e = ERR_INIT;
	struct trace *t = trace_open(path, &e);
	const struct event *evs;
	uint64_t time = 0, nr = 0;
	uint32_t nr_threads;
	size_t n;

	digest = 0;
	if (!t) {
		assert_true(e.tag == ERR_NOT_TRACE || e.tag == ERR_BAD_TRACE ||
			    e.tag == ERR_VERSION);
		assert_int_not_equal(e.msg[0], '\0');
		return -1;
	}
	trace_get_threads(t, &nr_threads);
	while ((n = trace_read(t, &evs))) {
		for (size_t i = 0; i < n; i++) {
			assert_true(evs[i].time >= time);
			assert_true(evs[i].thread < nr_threads);
			assert_true(evs[i].kind < EV_MAX && event_descs[evs[i].kind].name);
			time = evs[i].time;
			add_digest(&evs[i]);
		}
		nr += n;
	}
	*damage = *trace_get_damage(t);
	assert_true(nr + damage->bad_events >= trace_get_nr_events(t));
	trace_close(t);
	return nr;
}

static int64_t read_bytes(const void *data, size_t len, struct trace_damage *damage)
{
	struct memory_file f;
	int64_t nr;

	memory_file_init(&f, data, len);
	nr = read_all(f.path, damage);
	memory_file_release(&f);
	return nr;
}

/*
 * Proves that a file cut at any byte reads up to the last whole block, says that it is cut, and
 * tells how many bytes of a partial block it leaves out.
 */
static void truncated_at_every_byte(void **state)
{
	struct trace_damage damage = { 0 };
	struct memory_file f;
	size_t len;
	uint8_t *data;
	int64_t prev = -1, nr = -1;

	make_trace(&f, 4, 3, 100);
	data = memory_file_read(&f, &len);
	for (size_t cut = 0; cut <= len; cut++) {
		nr = read_bytes(data, cut, &damage);
		assert_true(nr >= prev);
		prev = nr;
		if (nr < 0)
			continue;
		assert_int_equal(damage.cut, cut < len);
		assert_int_equal(damage.bad_blocks + damage.bad_events, 0);
		assert_true(damage.bytes_skipped < BLOCK_HEADER_LEN + 4096);
	}
	assert_int_equal(nr, 300);
	assert_int_equal(damage.bytes_skipped, 0);
	free(data);
	memory_file_release(&f);
}

/*
 * Proves that a flipped bit anywhere is noticed. (zstd ignores a bit of its header: then nothing
 * may change.)
 */
static void every_flip_is_noticed(void **state)
{
	struct trace_damage damage = { 0 };
	struct rng r = { 5 };
	struct memory_file f;
	uint64_t undamaged;
	size_t len;
	uint8_t *data;

	make_trace(&f, 6, 3, 100);
	data = memory_file_read(&f, &len);
	read_all(f.path, &damage);
	undamaged = digest;
	for (size_t at = 0; at < len; at++) {
		uint8_t flip = 1 << rng_below(&r, 8);
		int64_t nr;

		data[at] ^= flip;
		damage = (struct trace_damage){ 0 };
		nr = read_bytes(data, len, &damage);
		/*
		 * Only the minor version and the place of the first block may change without
		 * notice.
		 */
		if (at >= FILE_HEADER_LEN) {
			assert_true(nr >= 0);
			assert_true(damage.cut || damage.bad_blocks || damage.bytes_skipped ||
				    digest == undamaged);
		}
		data[at] ^= flip;
	}
	free(data);
	memory_file_release(&f);
}

/* Proves that many flips, and bytes cut out or put in, do no harm. */
static void random_damage_does_no_harm(void **state)
{
	struct rng r = { 7 };

	for (int round = 0; round < 400; round++) {
		struct trace_damage damage;
		struct memory_file f;
		size_t len, at, cut;
		uint8_t *data;

		make_trace(&f, round, 1 + rng_below(&r, 4), 60);
		data = memory_file_read(&f, &len);
		for (uint64_t i = rng_below(&r, 20); i > 0; i--)
			data[FILE_HEADER_LEN + rng_below(&r, len - FILE_HEADER_LEN)] = rng_next(&r);
		at = FILE_HEADER_LEN + rng_below(&r, len - FILE_HEADER_LEN);
		cut = rng_below(&r, MIN(len - at, (size_t)200));
		memmove(data + at, data + at + cut, len - at - cut);
		read_bytes(data, len - cut, &damage);
		free(data);
		memory_file_release(&f);
	}
}

/* Appends a block with correct checksums, whatever is in it. */
static void add_block(struct strbuf *out, struct block_header h, const void *raw, size_t len)
{
	uint8_t head[BLOCK_HEADER_LEN];
	size_t bound = ZSTD_compressBound(len);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	strbuf_grow(out, sizeof(head) + bound);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	h.stored_len = ZSTD_compress2(zstd, out->s + out->len + sizeof(head), bound, raw, len);
	h.codec = h.codec ? h.codec : CODEC_ZSTD;
	h.raw_len = h.raw_len ? h.raw_len : len;
	block_header_pack(&h, head);
	memcpy(out->s + out->len, head, sizeof(head));
	out->len += sizeof(head) + h.stored_len;
	ZSTD_freeCCtx(zstd);
}

static void start_file(struct strbuf *out)
{
	uint8_t head[FILE_HEADER_LEN] = FILE_MAGIC;
	/* a string, then a meta that uses it as the tool's name */
	static const uint8_t defs[] = { DEF_STRING, 3, 1, 'm', 'e', DEF_META, 1, 1 };

	put_le16(head + 8, FORMAT_MAJOR);
	put_le32(head + 12, FILE_HEADER_LEN);
	strbuf_add(out, head, sizeof(head));
	add_block(out, (struct block_header){ .kind = BLOCK_DEFS }, defs, sizeof(defs));
}

/*
 * Fills raw with a block of nr events, all of one shape, without side columns but `sides` bytes in
 * each.
 */
static size_t make_events(uint8_t *raw, uint32_t nr, const uint8_t shape[3], uint32_t sides,
			  uint8_t fill)
{
	memset(raw, 0, EVENTS_HEADER_LEN + SHAPE_LEN + 3 * nr);
	put_le32(raw, 1);
	for (int i = 0; i < 4; i++)
		put_le32(raw + 4 + 4 * i, sides);
	memcpy(raw + EVENTS_HEADER_LEN, shape, 3);
	memset(raw + EVENTS_HEADER_LEN + SHAPE_LEN + 3 * nr, fill, 4 * sides);
	return EVENTS_HEADER_LEN + SHAPE_LEN + 3 * nr + 4 * sides;
}

/* Proves that counts and lengths are checked before they are believed. */
static void huge_counts_are_refused(void **state)
{
	static const uint8_t awake[] = { EV_AWAKE, 0, 0 }, run[] = { EV_RUN_START, 0, 2 };
	struct trace_damage damage = { 0 };
	struct strbuf out = STRBUF_INIT;
	struct block_header h = { .kind = BLOCK_EVENTS, .nr_events = 10 };
	uint8_t *raw = xmalloc(RAW_LEN_MAX);
	size_t len = make_events(raw, 10, awake, 0, 0);

	start_file(&out);
	add_block(&out, h, raw, len); /* the good one */
	h.nr_events = 11;
	add_block(&out, h, raw, len); /* 11 in the header, 10 inside */
	h.nr_events = 10;
	put_le32(raw + 4, UINT32_MAX); /* a column longer than all */
	add_block(&out, h, raw, len);
	put_le32(raw + 4, 0);
	put_le32(raw, UINT32_MAX); /* so many shapes */
	add_block(&out, h, raw, len);
	h.raw_len = RAW_LEN_MAX; /* more than the frame holds */
	put_le32(raw, 1);
	add_block(&out, h, raw, len);
	h.raw_len = 0;
	len = make_events(raw, 10, run, 20, 0xff); /* varints without end */
	add_block(&out, h, raw, len);
	len = make_events(raw, 10, run, 20, 0x00); /* predicted by nothing */
	add_block(&out, h, raw, len);
	len = make_events(raw, 10, run, 20, 0x05); /* entries that are not there */
	add_block(&out, h, raw, len);
	len = make_events(raw, 10, run, 30, 0x01); /* ten new tasks: fine */
	add_block(&out, h, raw, len);
	assert_int_equal(read_bytes(out.s, out.len, &damage), 20);
	assert_int_equal(damage.bad_blocks, 4);
	assert_int_equal(damage.bad_events, 41 + 30);
	assert_int_equal(damage.bytes_skipped, 0);

	/* Beyond the format's bounds it is no header at all. */
	strbuf_reset(&out);
	start_file(&out);
	len = make_events(raw, 10, awake, 0, 0);
	h.nr_events = BLOCK_EVENTS_MAX + 1;
	add_block(&out, h, raw, len);
	h.nr_events = 10;
	h.thread = THREADS_MAX;
	add_block(&out, h, raw, len);
	assert_int_equal(read_bytes(out.s, out.len, &damage), 0);
	assert_true(damage.bytes_skipped > 2 * BLOCK_HEADER_LEN);
	strbuf_release(&out);
	free(raw);
}

static void add_record(struct strbuf *defs, uint8_t tag, uint64_t number)
{
	uint8_t body[VARINT_MAX + 1];
	size_t len = varint_put(body, number) - body;

	body[len++] = 0; /* its first field; a record of a type, thread, step … may end here */
	strbuf_addch(defs, tag);
	strbuf_addch(defs, len);
	strbuf_add(defs, body, len);
}

/* How many threads a file of these definitions has, and a block of events of this thread. */
static uint32_t nr_threads_with(const struct strbuf *defs, uint32_t thread, uint64_t *nr_bad)
{
	static const uint8_t awake[] = { EV_AWAKE, 0, 0 };
	struct block_header h = { .kind = BLOCK_EVENTS, .nr_events = 10, .thread = thread };
	struct strbuf out = STRBUF_INIT;
	struct memory_file f;
	uint32_t nr_threads, nr;
	struct trace *t;
	uint8_t raw[100];

	start_file(&out);
	add_block(&out, (struct block_header){ .kind = BLOCK_DEFS }, defs->s, defs->len);
	add_block(&out, h, raw, make_events(raw, 10, awake, 0, 0));
	memory_file_init(&f, out.s, out.len);
	t = trace_open(f.path, NULL);
	assert_non_null(t);
	trace_get_threads(t, &nr_threads);
	*nr_bad = trace_get_damage(t)->bad_blocks;
	assert_true((trace_get_types(t, &nr), nr) < 1000);
	assert_true((trace_get_steps(t, &nr), nr) < 1000);
	assert_true((trace_get_futures(t, &nr), nr) < 1000);
	assert_true((trace_get_objects(t, &nr), nr) < 1000);
	assert_true((trace_get_runtimes(t, &nr), nr) < 1000);
	trace_close(t);
	memory_file_release(&f);
	strbuf_release(&out);
	return nr_threads;
}

/* Proves that a number takes memory only as far as the file can have defined others before it. */
static void tables_are_bounded_by_the_file(void **state)
{
	static const uint8_t tags[] = { DEF_STRING, DEF_OBJECT, DEF_RUNTIME, DEF_TYPE,
					DEF_THREAD, DEF_STEP,	DEF_FUTURE };
	struct strbuf defs = STRBUF_INIT;
	uint64_t nr_bad;

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		add_record(&defs, tags[i], 4000);
	assert_true(nr_threads_with(&defs, 0, &nr_bad) < 1000);
	assert_int_equal(nr_bad, 1);
	assert_true(nr_threads_with(&defs, THREADS_MAX - 1, &nr_bad) < 1000);
	assert_int_equal(nr_bad, 2);
	strbuf_reset(&defs);
	/* What is defined counts, in whatever order. */
	for (int i = 4000; i >= 0; i--)
		add_record(&defs, DEF_THREAD, i % 2 ? 4000 - i : i);
	assert_int_equal(nr_threads_with(&defs, 4000, &nr_bad), 4001);
	strbuf_release(&defs);
}

/* Proves that a block behind a terabyte that was never written is found, without reading that. */
static void holes_are_not_read(void **state)
{
	static const uint8_t awake[] = { EV_AWAKE, 0, 0 };
	struct block_header h = { .kind = BLOCK_EVENTS, .nr_events = 10 };
	struct strbuf out = STRBUF_INIT;
	struct trace_damage damage;
	struct memory_file f;
	uint8_t raw[100];

	start_file(&out);
	memory_file_init(&f, out.s, out.len);
	strbuf_reset(&out);
	add_block(&out, h, raw, make_events(raw, 10, awake, 0, 0));
	assert_int_equal(pwrite(f.fd, out.s, out.len, INT64_C(1) << 40), out.len);
	assert_int_equal(ftruncate(f.fd, INT64_C(1) << 41), 0);
	assert_int_equal(read_all(f.path, &damage), 10);
	assert_true(damage.bytes_skipped > UINT64_C(1) << 40);
	memory_file_release(&f);
	strbuf_release(&out);
}

/*
 * Proves that what a newer minor version adds is stepped over: kinds of block, record, event,
 * columns known by layout.
 */
static void newer_kinds_are_skipped(void **state)
{
	static const uint8_t newer[] = { 200, 0, LAYOUT_A | LAYOUT_B | 2 };
	static const uint8_t later_layout[] = { EV_AWAKE, 0, 0x10 };
	static const uint8_t defs[] = { 99, 2, 0xff, 0xff, DEF_THREAD, 4, 0, 42, 1, 77 };
	struct trace_damage damage = { 0 };
	struct strbuf out = STRBUF_INIT;
	struct block_header h = { .kind = 77, .nr_events = 10 };
	struct memory_file f;
	uint8_t *raw = xmalloc(RAW_LEN_MAX);
	uint32_t nr_threads;
	struct trace *t;
	size_t len;

	start_file(&out);
	put_le16((uint8_t *)out.s + 10, 9); /* minor version */
	add_block(&out, h, "whatever", 8);
	add_block(&out, (struct block_header){ .kind = BLOCK_DEFS }, defs, sizeof(defs));
	h.kind = BLOCK_EVENTS;
	len = make_events(raw, 10, newer, 30, 0x01);
	/* Two shapes: every second event is a known one. */
	memmove(raw + EVENTS_HEADER_LEN + SHAPE_LEN, raw + EVENTS_HEADER_LEN,
		len - EVENTS_HEADER_LEN);
	put_le32(raw, 2);
	raw[EVENTS_HEADER_LEN + SHAPE_LEN] = EV_SPAWN;
	for (int i = 0; i < 10; i++)
		raw[EVENTS_HEADER_LEN + 2 * SHAPE_LEN + i] = i % 2;
	add_block(&out, h, raw, len + SHAPE_LEN);
	assert_int_equal(read_bytes(out.s, out.len, &damage), 5);
	assert_int_equal(damage.bad_blocks, 0);
	assert_int_equal(damage.bad_events, 5);
	len = make_events(raw, 10, later_layout, 0, 0);
	add_block(&out, h, raw, len);
	assert_int_equal(read_bytes(out.s, out.len, &damage), 5);
	assert_int_equal(damage.bad_events, 15);

	memory_file_init(&f, out.s, out.len);
	t = trace_open(f.path, NULL);
	assert_string_equal(trace_get_meta(t)->tool, "me");
	assert_int_equal(trace_get_threads(t, &nr_threads)[0].tid, 42);
	assert_string_equal(trace_get_threads(t, &nr_threads)[0].name, "me");
	trace_close(t);
	memory_file_release(&f);

	put_le16((uint8_t *)out.s + 8, FORMAT_MAJOR + 1);
	assert_int_equal(read_bytes(out.s, out.len, &damage), -1);
	strbuf_release(&out);
	free(raw);
}

/* Proves that each wrong file is told apart. */
static void wrong_files_have_their_tags(void **state)
{
	static const struct {
		const char *path;
		enum err_tag tag;
	} wrong[] = {
		{ "/nonexistent/trace", ERR_SYS },
		{ "/proc/self/exe", ERR_NOT_TRACE },
		{ "/", ERR_NOT_TRACE },
		{ "/dev/null", ERR_NOT_TRACE },
	};
	struct trace_damage damage;
	struct err e = ERR_INIT;
	char path[32];
	int fds[2];

	assert_return_code(pipe(fds), errno);
	close(fds[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_null(trace_open(path, &e)); /* nobody writes: nothing to wait for */
	assert_int_equal(e.tag, ERR_NOT_TRACE);
	close(fds[0]);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		e = (struct err)ERR_INIT;
		assert_null(trace_open(wrong[i].path, &e));
		assert_int_equal(e.tag, wrong[i].tag);
	}
	assert_int_equal(read_bytes(FILE_MAGIC "\1\0\0\0\x10\0\0\0", 16, &damage), -1);
}

/* Proves that a recording without events is a good file. */
static void empty_trace_is_good(void **state)
{
	struct trace_damage damage = { .cut = true };
	struct memory_file f;

	make_trace(&f, 1, 0, 0);
	assert_int_equal(read_all(f.path, &damage), 0);
	assert_false(damage.cut);
	assert_int_equal(damage.bad_blocks + damage.bytes_skipped, 0);
	memory_file_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_at_every_byte),
		cmocka_unit_test(every_flip_is_noticed),
		cmocka_unit_test(random_damage_does_no_harm),
		cmocka_unit_test(huge_counts_are_refused),
		cmocka_unit_test(tables_are_bounded_by_the_file),
		cmocka_unit_test(holes_are_not_read),
		cmocka_unit_test(newer_kinds_are_skipped),
		cmocka_unit_test(wrong_files_have_their_tags),
		cmocka_unit_test(empty_trace_is_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
