// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a snapshot holds whole objects, and notices every byte that changed. */
#include "walk/snapshot.h"

#include "memory/fake.h"

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

/* As a search through all copies, from the latest on, would find it. */
static const uint8_t *search(const struct snapshot *s, uint64_t addr, uint64_t len)
{
	for (size_t i = s->copies.nr; i-- > 0;) {
		const struct snapshot_copy *c = &s->copies.v[i];

		if (addr >= c->addr && addr + len <= c->addr + c->len)
			return s->bytes.v + c->at + (addr - c->addr);
	}
	return NULL;
}

/* Copies that overlap, of some bytes and of some pages, are found by whatever lies in them. */
static void test_many(void **state)
{
	const uint64_t len = 0x100000;
	struct fake *f = fake_new();
	struct snapshot s;
	uint64_t value = 1, nr_found = 0, nr_cut = 0;

	fake_add(f, 0x100000, len);
	memory_settle(&f->m);
	snapshot_init(&s, &f->m);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t addr;

		value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		addr = 0x100000 + (value >> 20) % (len - 0x4000);
		assert_ptr_equal(snapshot_get(&s, addr, value % 9), search(&s, addr, value % 9));
		nr_found += snapshot_get(&s, addr, value % 9) != NULL;
		snapshot_reserve(&s, addr, value % 10 ? value >> 60 : 0x3000);
		if (value >> 40 & 127)
			continue;
		snapshot_cut(&s, s.copies.nr - (value >> 50) % (s.copies.nr + 1));
		nr_cut++;
		if (i > 10000 && i < 11000)
			snapshot_reset(&s);
	}
	assert_true(nr_found > 1000 && nr_found < 19000 && nr_cut > 100);
	snapshot_release(&s);
	memory_close(&f->m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_come_from_the_copy),
		cmocka_unit_test(test_any_byte_that_changed_is_seen),
		cmocka_unit_test(test_it_does_not_grow_for_ever),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
