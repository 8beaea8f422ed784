// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <string.h>

#include "base/map.h"

/* Nothing is in an empty map, also in one that never had memory. */
static void test_empty(void **state)
{
	struct map m = MAP_INIT;
	uint64_t key, value;
	size_t pos = 0;

	assert_null(map_get(&m, 0));
	assert_false(map_del(&m, 0, NULL));
	assert_false(map_next(&m, &pos, &key, &value));
	map_clear(&m);
	map_release(&m);
}

/* Every key is allowed, the odd ones too; a new value is 0; clearing and deleting forget. */
static void test_basics(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, 0xffffffff };
	struct map m = MAP_INIT;
	uint64_t value;
	bool was_there;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		uint64_t *v = map_put(&m, keys[i], &was_there);

		assert_false(was_there);
		assert_int_equal(*v, 0);
		*v = i + 100;
	}
	assert_int_equal(m.nr, ARRAY_SIZE(keys));
	assert_int_equal(*map_put(&m, 0, &was_there), 100);
	assert_true(was_there);
	assert_true(map_del(&m, UINT64_MAX, &value));
	assert_int_equal(value, 102);
	assert_null(map_get(&m, UINT64_MAX));
	assert_int_equal(*map_put(&m, UINT64_MAX, NULL), 0);
	map_clear(&m);
	assert_int_equal(m.nr, 0);
	assert_null(map_get(&m, 1));
	map_release(&m);
}

enum { NAIVE_KEYS = 700 };

/* The model: an array indexed by a small number from which the key is made. */
struct naive {
	bool used[NAIVE_KEYS];
	uint64_t value[NAIVE_KEYS];
	size_t nr;
};

/* Keys in three kinds: close together, far apart, and such that land on one home place of the
 * table. */
static uint64_t key_of(unsigned i, unsigned kind)
{
	if (kind == 0)
		return i;
	if (kind == 1)
		return i * UINT64_C(0x100000001b3) << 12;
	return (uint64_t)i << 48; /* addresses of one page offset */
}

static void check_same(const struct map *m, const struct naive *n, unsigned kind)
{
	uint64_t key, value;
	size_t pos = 0, seen = 0;

	assert_int_equal(m->nr, n->nr);
	while (map_next(m, &pos, &key, &value)) {
		const uint64_t *v = map_get(m, key);

		assert_non_null(v);
		assert_int_equal(*v, value);
		seen++;
	}
	assert_int_equal(seen, n->nr);
	for (unsigned i = 0; i < NAIVE_KEYS; i++) {
		const uint64_t *v = map_get(m, key_of(i, kind));

		assert_int_equal(v != NULL, n->used[i]);
		if (v)
			assert_int_equal(*v, n->value[i]);
	}
}

static void random_step(struct map *m, struct naive *n, uint64_t *seed, unsigned kind)
{
	unsigned i = unit_random(seed) % NAIVE_KEYS;
	uint64_t key = key_of(i, kind), value = 0;
	bool was_there;

	/* phases that mostly grow and phases that mostly shrink, as a table of live tasks does */
	if (unit_random(seed) % 8 < (*seed >> 40 & 4) + 2) {
		uint64_t *v = map_put(m, key, &was_there);

		assert_int_equal(was_there, n->used[i]);
		assert_int_equal(*v, was_there ? n->value[i] : 0);
		n->nr += !was_there;
		n->used[i] = true;
		*v = n->value[i] = unit_random(seed);
		return;
	}
	assert_int_equal(map_del(m, key, &value), n->used[i]);
	if (n->used[i]) {
		assert_int_equal(value, n->value[i]);
		n->used[i] = false;
		n->nr--;
	}
}

/* After any puts and deletes the map holds what an array would: deletion loses and revives nothing.
 */
static void test_against_array(void **state)
{
	for (unsigned kind = 0; kind < 3; kind++) {
		static struct naive n;
		struct map m = MAP_INIT;
		uint64_t seed = 88172645463325252u + kind;

		memset(&n, 0, sizeof(n));
		for (int step = 0; step < 20011; step++) {
			random_step(&m, &n, &seed, kind);
			if (step % 257 == 0)
				check_same(&m, &n, kind);
		}
		check_same(&m, &n, kind);
		map_release(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_against_array),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
