// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that packed data comes back as it was, and that no cut or changed data is read behind its
 * end. */
#include "unit.h"

#include <string.h>

#include "base/pack.h"

static void fill(struct strbuf *b)
{
	pack_number(b, 7);
	pack_string(b, "name");
	pack_string(b, NULL);
	pack_blob(b, "\0\1\2", 3);
	pack_number(b, 2);
	strbuf_add(b, "abcdefgh", 8);
}

static bool read_all(const char *data, size_t len)
{
	struct unpack u = UNPACK_INIT(data, len);
	bool is_right = true;
	const void *blob;
	char bytes[4];
	uint64_t nr;
	size_t n;

	is_right &= unpack_below(&u, 8) == 7;
	is_right &= strcmp(unpack_string(&u), "name") == 0;
	is_right &= !*unpack_string(&u);
	blob = unpack_blob(&u, &n);
	is_right &= blob && n == 3 && memcmp(blob, "\0\1\2", 3) == 0;
	nr = unpack_count(&u, 4);
	is_right &= nr == 2;
	while (nr--)
		unpack_bytes(&u, bytes, sizeof(bytes));
	return is_right && !u.is_broken && u.p == u.end;
}

static void test_round_trip(void **state)
{
	struct strbuf b = STRBUF_INIT;

	fill(&b);
	assert_true(read_all(b.s, b.len));
	strbuf_release(&b);
}

/* Each in memory of its own size, where a sanitizer sees what is read behind it. */
static void test_cut(void **state)
{
	struct strbuf b = STRBUF_INIT;

	fill(&b);
	for (size_t len = 0; len < b.len; len++) {
		char *cut = xmalloc(len);

		memcpy(cut, b.s, len);
		assert_false(read_all(cut, len));
		free(cut);
	}
	strbuf_release(&b);
}

static void test_limits(void **state)
{
	uint64_t huge = UINT64_MAX / 2;
	struct unpack below = UNPACK_INIT(&huge, sizeof(huge)), count = below, blob = below;
	size_t len;

	assert_int_equal(unpack_below(&below, huge), 0);
	assert_true(below.is_broken);
	assert_int_equal(unpack_count(&count, 1), 0);
	assert_true(count.is_broken);
	assert_null(unpack_blob(&blob, &len));
	assert_int_equal(unpack_number(&blob), 0);
	assert_string_equal(unpack_string(&blob), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
