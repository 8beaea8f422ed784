// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that what is kept are the first ones by the key, whatever the order in which they come. */
#include "unit.h"

#include "base/top.h"

struct pair {
	uint64_t nr, key;
};

/* Against a plain search among all of them, for many limits and numbers with many equals. */
static void test_first_ones(void **state)
{
	uint64_t seed = 17, keys[100];

	for (unsigned round = 0; round < 300; round++) {
		size_t all = unit_random(&seed) % 100, limit = unit_random(&seed) % 20, nr;
		struct pair *pairs, *room;
		struct top top;

		top_init(&top, sizeof(*pairs), limit);
		for (size_t i = 0; i < all; i++) {
			keys[i] = unit_random(&seed) % 30;
			if ((room = top_add(&top, keys[i], i)))
				*room = (struct pair){ i, keys[i] };
		}
		pairs = top_take(&top, &nr);
		assert_int_equal(nr, limit ? MIN(limit, all) : all);
		for (size_t k = 0; k < nr; k++) {
			size_t before = 0, me = pairs[k].nr;

			assert_int_equal(pairs[k].key, keys[me]);
			for (size_t i = 0; i < all; i++)
				before += keys[i] > keys[me] || (keys[i] == keys[me] && i < me);
			assert_int_equal(before, k);
		}
		free(pairs);
	}
}

static void test_memory(void **state)
{
	struct top top;

	top_init(&top, sizeof(struct pair), 7);
	for (uint64_t i = 0; i < 10000; i++)
		top_add(&top, i, i); /* each of them is the greatest so far */
	assert_int_equal(top.elements.nr, 7 * sizeof(struct pair));
	assert_null(top_add(&top, 1, 1));
	top_release(&top);
	top_release(&top);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_ones),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
