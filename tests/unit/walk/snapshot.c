// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a snapshot holds whole objects, and notices every byte that changed. */
#include "walk/snapshot.h"

#include "fake.h"

static void test_parts_come_from_the_copy(void **state)
{
	struct fake *f = fake_new();
	struct snapshot s;
	uint64_t value;

	fake_add(f, 0x1000, 0x1000);
	memory_settle(&f->m);
	fake_put(f, 0x1100, 0x1122334455667788);
	snapshot_init(&s, &f->m);
	assert_null(snapshot_get(&s, 0x1100, 8));
	assert_true(snapshot_add(&s, 0x1100, 64));
	fake_put(f, 0x1100, 0);
	assert_true(snapshot_number(&s, 0x1100, 8, &value));
	assert_true(value == 0x1122334455667788);
	assert_true(snapshot_number(&s, 0x1101, 2, &value));
	assert_int_equal(value, 0x6677);
	assert_false(snapshot_number(&s, 0x113c, 8, &value)); /* ends behind it */
	assert_false(snapshot_number(&s, 0x1100, 9, &value));
	assert_true(snapshot_add(&s, 0x1120, 8)); /* is there already */
	assert_int_equal(s.copies.nr, 1);
	assert_false(snapshot_add(&s, 0x1ff8, 16));
	assert_false(snapshot_add(&s, 0x10, 8));
	assert_int_equal(s.copies.nr, 1);
	snapshot_release(&s);
	memory_close(&f->m);
}

static void test_any_byte_that_changed_is_seen(void **state)
{
	struct fake *f = fake_new();
	struct snapshot one, two, *both[] = { &one, &two };
	uint8_t *bytes = fake_add(f, 0x1000, 0x1000);
	bool are_same[2];

	memory_settle(&f->m);
	snapshot_init(&one, &f->m);
	snapshot_init(&two, &f->m);
	assert_true(snapshot_add(&one, 0x1010, 100));
	assert_true(snapshot_add(&one, 0x1400, 8));
	assert_true(snapshot_add(&two, 0x1800, 16));
	snapshot_compare(both, 2, are_same);
	assert_true(are_same[0] && are_same[1]);
	for (unsigned i = 0; i < 0x1000; i++) {
		bool of_one = (i >= 0x10 && i < 0x10 + 100) || (i >= 0x400 && i < 0x408);
		bool of_two = i >= 0x800 && i < 0x810;

		bytes[i] = 1;
		snapshot_compare(both, 2, are_same);
		assert_int_equal(are_same[0], !of_one);
		assert_int_equal(are_same[1], !of_two);
		bytes[i] = 0;
	}
	snapshot_release(&one);
	snapshot_release(&two);
	memory_close(&f->m);
}

static void test_it_does_not_grow_for_ever(void **state)
{
	struct fake *f = fake_new();
	struct snapshot s;

	fake_add(f, 0x1000, 0x10000);
	memory_settle(&f->m);
	snapshot_init(&s, &f->m);
	s.max_bytes = 0x2000;
	assert_true(snapshot_add(&s, 0x1000, 0x1800));
	assert_false(snapshot_add(&s, 0x3000, 0x1000));
	assert_true(snapshot_add(&s, 0x3000, 0x800));
	snapshot_reset(&s);
	assert_true(snapshot_add(&s, 0x3000, 0x1000));
	snapshot_release(&s);
	memory_close(&f->m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_come_from_the_copy),
		cmocka_unit_test(test_any_byte_that_changed_is_seen),
		cmocka_unit_test(test_it_does_not_grow_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
