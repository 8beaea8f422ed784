// SPDX-License-Identifier: MIT OR Apache-2.0
/* Small things: allocation, prefixes, and the growing arrays of vec.h. */
#include "unit.h"

#include <string.h>

#include "base/vec.h"

/* Nothing is still something: sizes of 0 give memory that can be freed. */
static void test_nothing(void **state)
{
	void *p[] = { xmalloc(0), xcalloc(0, 8), xrealloc(NULL, 0), xreallocarray(NULL, 0, 8) };

	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		assert_non_null(p[i]);
		free(p[i]);
	}
}

/* Copies and formatted strings are the caller's own. */
static void test_strings(void **state)
{
	char *a = xstrdup("abc"), *b = xstrndup("abc", 2), *c = xasprintf("%s-%d", "x", 7);

	assert_string_equal(a, "abc");
	assert_string_equal(b, "ab");
	assert_string_equal(c, "x-7");
	free(a);
	free(b);
	free(c);
}

/* Beginnings and ends, also empty ones and ones that are too long. */
static void test_affixes(void **state)
{
	assert_true(str_has_prefix("abc", "ab"));
	assert_true(str_has_prefix("abc", ""));
	assert_true(str_has_prefix("abc", "abc"));
	assert_false(str_has_prefix("abc", "abcd"));
	assert_false(str_has_prefix("abc", "b"));
	assert_true(str_has_suffix("abc", "bc"));
	assert_true(str_has_suffix("abc", ""));
	assert_true(str_has_item("1.2.10 + 1.2.1", "1.2.1", " + "));
	assert_true(str_has_item("1.2.1 + 1.3.0", "1.2.1", " + "));
	assert_true(str_has_item("1.2.1", "1.2.1", " + "));
	assert_false(str_has_item("1.2.10 + 11.2.1", "1.2.1", " + "));
	assert_false(str_has_item("1.2.10 + 1.2.1", "1.2.10 + 1.2.1", " + "));
	assert_false(str_has_item("", "1.2.1", " + "));
	assert_true(str_has_suffix("abc", "abc"));
	assert_false(str_has_suffix("abc", "zabc"));
	assert_false(str_has_suffix("abc", "b"));
}

struct pair {
	int a, b;
};

/* A vector keeps what was pushed, in order, through all growth; a released one is empty again. */
static void test_vec(void **state)
{
	VEC(struct pair) v = { 0 };
	int i = 0;

	vec_each (p, &v)
		fail_msg("an empty vector has element %d", p->a);
	for (i = 0; i < 1009; i++)
		vec_push(&v, (struct pair){ .a = i, .b = -i });
	assert_int_equal(v.nr, 1009);
	i = 0;
	vec_each (p, &v) {
		assert_int_equal(p->a, i);
		assert_int_equal(p->b, -i);
		i++;
	}
	assert_int_equal(i, 1009);
	vec_grow(&v, 5000);
	assert_true(v.cap >= 6009);
	assert_int_equal(v.v[1008].a, 1008);
	vec_release(&v);
	assert_int_equal(v.nr, 0);
	assert_null(v.v);
	vec_push(&v, (struct pair){ 1, 2 });
	assert_int_equal(v.v[0].b, 2);
	vec_release(&v);
}

/* The same as a search from the front, whatever there is to be found. */
static void test_partition_point(void **state)
{
	static const unsigned v[] = { 2, 2, 3, 5, 5, 5, 9 };

	for (size_t nr = 0; nr <= ARRAY_SIZE(v); nr++)
		for (unsigned wanted = 0; wanted <= 10; wanted++) {
			size_t truth = 0;

			while (truth < nr && v[truth] < wanted)
				truth++;
			assert_int_equal(partition_point(i, nr, v[i] < wanted), truth);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_affixes),		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_partition_point),
	};

	return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
