// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that what is written is what the wire format of protocol buffers says, byte by byte. */
#include "unit.h"

#include "export/proto.h"

#define assert_bytes(buf, ...)                                            \
	do {                                                              \
		const uint8_t expected[] = { __VA_ARGS__ };               \
                                                                          \
		assert_int_equal((buf).len, sizeof(expected));            \
		assert_memory_equal((buf).s, expected, sizeof(expected)); \
		strbuf_reset(&(buf));                                     \
	} while (0)

/* The examples of the format's own description: 150 is 96 01, "testing" is 07 and its letters. */
static void test_fields(void **state)
{
	struct strbuf b = STRBUF_INIT;
	struct proto w = proto_start(&b);

	proto_uint(&w, 1, 150);
	proto_finish(&w, &b);
	assert_bytes(b, 0x08, 0x96, 0x01);
	w = proto_start(&b);
	proto_string(&w, &b, 2, "testing");
	proto_finish(&w, &b);
	assert_bytes(b, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
	w = proto_start(&b);
	proto_uint(&w, 1, 0);
	proto_uint(&w, 16, 127);
	proto_uint(&w, 15, 128);
	proto_fixed64(&w, 47, 1);
	proto_finish(&w, &b);
	assert_bytes(b, 0x08, 0, 0x80, 0x01, 0x7f, 0x78, 0x80, 0x01, 0xf9, 0x02, 1, 0, 0, 0, 0, 0,
		     0, 0);
	w = proto_start(&b);
	proto_double(&w, 1, 1.5);
	proto_uint(&w, 2, UINT64_MAX);
	proto_finish(&w, &b);
	assert_bytes(b, 0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff,
		     0xff, 0xff, 0xff, 0xff, 0x01);
	strbuf_release(&b);
}

static void test_nesting(void **state)
{
	struct strbuf b = STRBUF_INIT;
	struct proto w;
	size_t outer, inner;

	strbuf_addstr(&b, "x"); /* what is there stays */
	w = proto_start(&b);
	outer = proto_open(&w, 3);
	inner = proto_open(&w, 1);
	proto_uint(&w, 1, 150);
	proto_close(&w, inner);
	inner = proto_open(&w, 2);
	proto_close(&w, inner);
	proto_close(&w, outer);
	proto_finish(&w, &b);
	assert_bytes(b, 'x', 0x1a, 0x07, 0x0a, 0x03, 0x08, 0x96, 0x01, 0x12, 0x00);
	strbuf_release(&b);
}

/* Lengths at the edges of one, two and three bytes, in both messages. */
static void test_long(void **state)
{
	static const size_t sizes[] = { 0, 124, 125, 126, 127, 128, 16380, 16384, 2097152 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct strbuf b = STRBUF_INIT;
		char *text = test_malloc(sizes[i] + 1);
		struct proto w = proto_start(&b);
		size_t outer = proto_open(&w, 1), inner = proto_open(&w, 2);
		uint8_t head[32], *at = head;
		size_t len_len = sizes[i] < 128	      ? 1
				 : sizes[i] < 16384   ? 2
				 : sizes[i] < 1 << 21 ? 3
						      : 4;
		size_t inner_len = 1 + len_len + sizes[i], outer_len;

		memset(text, 'a', sizes[i]);
		text[sizes[i]] = '\0';
		proto_string(&w, &b, 3, text);
		proto_close(&w, inner);
		proto_uint(&w, 4, 1);
		proto_close(&w, outer);
		proto_finish(&w, &b);
		len_len = inner_len < 128 ? 1 : inner_len < 16384 ? 2 : inner_len < 1 << 21 ? 3 : 4;
		outer_len = 1 + len_len + inner_len + 2;
		*at++ = 0x0a;
		at = proto_put_varint(at, outer_len);
		*at++ = 0x12;
		at = proto_put_varint(at, inner_len);
		*at++ = 0x1a;
		at = proto_put_varint(at, sizes[i]);
		assert_memory_equal(b.s, head, at - head);
		assert_memory_equal(b.s + (at - head), text, sizes[i]);
		assert_int_equal(b.len, at - head + sizes[i] + 2);
		assert_int_equal(b.s[b.len - 2], 0x20);
		test_free(text);
		strbuf_release(&b);
	}
}

/* A string of a message is UTF-8, whatever the target called its types. */
static void test_hostile(void **state)
{
	struct strbuf b = STRBUF_INIT;
	struct proto w = proto_start(&b);

	proto_string(&w, &b, 1, "\xc3\xa4\xff\x80z");
	proto_finish(&w, &b);
	assert_bytes(b, 0x0a, 9, 0xc3, 0xa4, 0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd, 'z');
	strbuf_release(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
