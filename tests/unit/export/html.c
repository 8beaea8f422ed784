// SPDX-License-Identifier: MIT OR Apache-2.0
/* Parts of the HTML exporter without a page: what is kept of too many polls, and how numbers are
 * packed. The page itself is tested in a browser, by tests/export. */
#include <string.h>
#include <zlib.h>

#include "unit.h"

#include "export/html.h"

#define NR_POLLS  20000u
#define MAX_POLLS 2000u

static const struct trace_type types[] = { { .name = "app::a" }, { .name = "app::b" } };
static const struct trace_thread threads[] = { { .tid = 7, .name = "a" },
					       { .tid = 8, .name = "b" } };

static struct recording fake_recording(void)
{
	struct recording rec = {
		.types = types, .nr_types = 2, .threads = threads, .nr_threads = 2
	};

	recording_make_groups(&rec);
	return rec;
}

static void release(struct recording *rec)
{
	free(rec->groups);
	free(rec->group_of_type);
}

/* One of a hundred is long. */
static uint64_t took_of(uint64_t n)
{
	return n % 100 == 50 ? 1000000 + n : 100 + n % 50;
}

static void tell_polls(struct html_polls *p)
{
	struct model_task task = { .key = { .id = 3, .type = 1 } };

	html_polls_ops.spawn(p, &task);
	for (uint64_t n = 0; n < NR_POLLS; n++) {
		struct model_run run = { .task = &task,
					 .start_ns = n * 10000000,
					 .end_ns = n * 10000000 + took_of(n),
					 .thread = n % 2 };

		html_polls_ops.run(p, &run);
	}
}

/* Columns as the page sees them, all of one width. */
static uint8_t *inflate_all(const struct html_pack *pack, size_t room, size_t *len)
{
	struct out out;
	uint8_t *packed, *bytes = xmalloc(room);
	z_stream z = { 0 };
	size_t nr = 0;

	out_init(&out, -1);
	html_pack_write(pack, &out);
	packed = xmalloc(out.buf.len);
	for (size_t i = 0, bits = 0, nr_bits = 0; i < out.buf.len && out.buf.s[i] != '='; i++) {
		static const char digits[] =
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

		bits = bits << 6 | (strchr(digits, out.buf.s[i]) - digits);
		nr_bits += 6;
		if (nr_bits >= 8) {
			nr_bits -= 8;
			packed[nr++] = bits >> nr_bits;
		}
	}
	assert_int_equal(out.buf.len, html_pack_text_bytes(pack));
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = packed;
	z.avail_in = nr;
	z.next_out = bytes;
	z.avail_out = room;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	*len = room - z.avail_out;
	inflateEnd(&z);
	free(packed);
	strbuf_release(&out.buf);
	return bytes;
}

static uint64_t square(const void *arg, size_t i)
{
	return (uint64_t)i * i + *(const uint32_t *)arg;
}

/* Numbers come back out of a pack, also those of several blocks. */
static void test_pack(void **state)
{
	struct html_pack *pack = html_pack_new();
	size_t nr = 2 * HTML_BLOCK + 5, len;
	uint32_t more = 7;
	uint8_t *bytes;

	html_pack_put(pack, (struct html_column){ "none", 4, 0 }, square, &more);
	html_pack_put(pack, (struct html_column){ "squares", 4, nr }, square, &more);
	assert_int_equal(html_pack_finish(pack, NULL), 0);
	bytes = inflate_all(pack, nr * 4 + 1, &len);
	assert_int_equal(len, nr * 4);
	for (size_t i = 0; i < nr; i++) {
		size_t block = i / HTML_BLOCK * HTML_BLOCK, in_block = MIN(nr - block, HTML_BLOCK);
		uint32_t value = 0;

		for (unsigned b = 0; b < 4; b++)
			value |= (uint32_t)bytes[block * 4 + b * in_block + i - block] << 8 * b;
		assert_int_equal(value, (uint32_t)square(&more, i));
	}
	free(bytes);
	html_pack_free(pack);
}

/* Of too many polls all long ones are kept, in no more room than was given. */
static void test_thin(void **state)
{
	struct recording rec = fake_recording();
	struct html_polls *p = html_polls_new(&rec, NULL, 0, MAX_POLLS);
	const struct html_kept *kept = html_polls_get_kept(p);
	struct html_pack *pack = html_pack_new();

	tell_polls(p);
	assert_int_equal(kept->nr_seen, NR_POLLS);
	assert_in_range(kept->nr_kept, NR_POLLS / 100, MAX_POLLS);
	assert_in_range(kept->min_ns, 1, 1000000);
	assert_true(kept->sample > 0 && kept->sample < 0.2);
	html_polls_thin(p, 400);
	assert_in_range(kept->nr_kept, NR_POLLS / 100, 500);
	assert_in_range(kept->min_ns, 100, 1000000);
	html_polls_pack(p, pack);
	assert_int_equal(html_polls_get_nr_on(p, 0) + html_polls_get_nr_on(p, 1), kept->nr_kept);
	assert_int_equal(html_pack_finish(pack, NULL), 0);
	html_pack_free(pack);
	html_polls_free(p);
	release(&rec);
}

/* What is short stays if a finding is about it. */
static void test_pinned(void **state)
{
	struct recording rec = fake_recording();
	struct finding f = { .type = 1,
			     .has_task = true,
			     .task = { .id = 3, .type = 1 },
			     .time_ns = 1000 * UINT64_C(10000000),
			     .span_ns = 19 * UINT64_C(10000000) };
	struct html_polls *p = html_polls_new(&rec, &f, 1, MAX_POLLS);
	const struct html_kept *kept = html_polls_get_kept(p);
	uint64_t nr;

	tell_polls(p);
	/* as good as nothing else: a poll of the finding each 10 ms, and what is as long as the
	 * longest */
	html_polls_thin(p, 4);
	nr = kept->nr_kept;
	assert_in_range(nr, 20, 20 + 10);
	html_polls_free(p);
	release(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_thin),
		cmocka_unit_test(test_pinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
