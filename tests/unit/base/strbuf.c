// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <stdio.h>

#include <string.h>

#include "base/strbuf.h"

/* s can be printed at any time: empty, released and reset buffers are "". */
static void test_empty(void **state)
{
	struct strbuf b = STRBUF_INIT;

	assert_string_equal(b.s, "");
	strbuf_reset(&b);
	assert_string_equal(b.s, "");
	strbuf_addstr(&b, "");
	assert_string_equal(b.s, "");
	strbuf_add(&b, NULL, 0); /* what an empty vec has; the sanitizers look on */
	assert_string_equal(b.s, "");
	strbuf_addstr(&b, "x");
	strbuf_reset(&b);
	assert_string_equal(b.s, "");
	assert_int_equal(b.len, 0);
	strbuf_release(&b);
	assert_string_equal(b.s, "");
	strbuf_release(&b);
}

/* Whatever is added in whatever pieces, the bytes are those of all pieces, with a NUL behind. */
static void test_pieces(void **state)
{
	static char want[100000], piece[300];
	struct strbuf b = STRBUF_INIT;
	uint64_t seed = 4711;
	size_t len = 0;

	while (len < sizeof(want) - sizeof(piece)) {
		size_t n = unit_random(&seed) % sizeof(piece);

		for (size_t i = 0; i < n; i++)
			piece[i] = unit_random(&seed);
		memcpy(want + len, piece, n);
		len += n;
		strbuf_add(&b, piece, n);
		assert_int_equal(b.len, len);
		assert_int_equal(b.s[len], 0);
		assert_true(b.cap > b.len);
	}
	assert_memory_equal(b.s, want, len);
	strbuf_release(&b);
}

/* Formatted text is appended whole, however long. */
static void test_format(void **state)
{
	struct strbuf b = STRBUF_INIT;

	strbuf_addch(&b, '<');
	strbuf_addf(&b, "%s-%d%5000s", "a", 12, "z");
	strbuf_addf(&b, "%s", "");
	strbuf_addstr(&b, ">");
	assert_int_equal(b.len, 1 + 4 + 5000 + 1);
	assert_memory_equal(b.s, "<a-12 ", 6);
	assert_string_equal(b.s + b.len - 3, " z>");
	strbuf_release(&b);
}

/* Text from outside cannot steer a terminal, and good UTF-8 stays as it is. */
static void test_clean(void **state)
{
	static const char text[] = "a\x1b[31m\n\x7f\0\xc3\xa4";
	struct strbuf b = STRBUF_INIT;

	strbuf_add_clean(&b, text, sizeof(text) - 1);
	assert_string_equal(b.s, "a\\x1b[31m\\x0a\\x7f\\x00\xc3\xa4");
	/* the one-character form of ESC [, alone and as UTF-8; what turns text round; half a
	 * character */
	strbuf_reset(&b);
	strbuf_add_clean(&b, "\x9b\xc2\x9b\xe2\x80\xae\xe2\x80", 8);
	assert_string_equal(b.s, "\\x9b\\u{9b}\\u{202e}\\xe2\\x80");
	strbuf_release(&b);
}

/* A taken string belongs to the taker, and the buffer starts anew. */
static void test_take(void **state)
{
	struct strbuf b = STRBUF_INIT;
	char *empty = strbuf_take(&b), *s;

	assert_string_equal(empty, "");
	strbuf_addstr(&b, "one");
	s = strbuf_take(&b);
	assert_string_equal(b.s, "");
	strbuf_addstr(&b, "two");
	assert_string_equal(s, "one");
	assert_string_equal(b.s, "two");
	strbuf_release(&b);
	free(s);
	free(empty);
}

/* Growing keeps what is there and makes the promised room. */
static void test_grow(void **state)
{
	struct strbuf b = STRBUF_INIT;

	strbuf_grow(&b, 0);
	assert_string_equal(b.s, "");
	strbuf_addstr(&b, "abc");
	strbuf_grow(&b, 100000);
	assert_true(b.cap >= 100004);
	assert_string_equal(b.s, "abc");
	strbuf_release(&b);
}

/* Numbers come out as printf would write them. */
static void test_adduint(void **state)
{
	static const uint64_t values[] = { 0, 9, 10, 1234567890, UINT64_MAX };
	struct strbuf b = STRBUF_INIT;
	char expected[32];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		strbuf_reset(&b);
		strbuf_adduint(&b, values[i]);
		snprintf(expected, sizeof(expected), "%llu", (unsigned long long)values[i]);
		assert_string_equal(b.s, expected);
	}
	strbuf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_format),	cmocka_unit_test(test_clean),
		cmocka_unit_test(test_take),	cmocka_unit_test(test_grow),
		cmocka_unit_test(test_adduint),
	};

	return cmocka_run_group_tests_name("strbuf", tests, NULL, NULL);
}
