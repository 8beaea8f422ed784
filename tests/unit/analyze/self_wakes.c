// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks which do nothing but wake themselves are found, and those that give way are
 * not. */
#include "found.h"

/* nr polls of 2 us, each woken inside the one before, `every_ns` apart. */
static void add_spins(struct script *s, uint64_t at, uint64_t id, unsigned nr, uint64_t every_ns)
{
	for (unsigned i = 0; i < nr; i++) {
		ADD(s, POLL(at + i * every_ns, 0, id));
		ADD(s, END(at + i * every_ns + 2 * US, 0, 0));
	}
	ADD(s, POLL(at + nr * every_ns, 0, id));
	ADD(s, END(at + nr * every_ns + 2 * US, 0, COMPLETE));
}

static void test_storm(void **state)
{
	const struct finding *f;
	struct script s = { 0 };
	struct found found;

	add_spins(&s, MS, 1, 1000, 10 * US);
	add_spins(&s, 100 * MS, 2, 3000, 10 * US);
	add_spins(&s, 200 * MS, 3, 999, 10 * US); /* too few */
	find_all(&found, &s, script_types, 300 * MS, "");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "self-wakes");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(f->task.id, 2);
	assert_int_equal(f->time_ns, 100 * MS);
	assert_int_equal(figure_of(f, "tasks"), 2);
	assert_int_equal(figure_of(f, "self_wakes"), 4000);
	assert_int_equal(figure_of(f, "self_wakes_percent"), 100);
	assert_int_equal(figure_of(f, "busy_ns"), 8000 * US);
	assert_int_equal(f->harm_ns, 8000 * US);
	assert_string_equal(f->what, "2 tasks woke themselves 4,000 times, 100% of all wakes; the "
				     "polls that followed took 8ms");
	assert_non_null(strstr(f->advice, "join!"));
	found_release(&found);
	/* next to nothing */
	add_spins(&s, MS, 1, 1000, 10 * US);
	find_all(&found, &s, script_types, 300 * MS, "");
	assert_int_equal(found_one(&found, "self-wakes")->severity, SEVERITY_NOTE);
	found_release(&found);
}

/* Also when its spawn was seen in the past, and when it is still alive. */
static void test_alive(void **state)
{
	struct script s = { 0 };

	for (unsigned i = 0; i <= 1500; i++) {
		ADD(&s, POLL(i * 10 * US, 0, 1));
		ADD(&s, END(i * 10 * US + US, 0, 0));
	}
	assert_int_equal(count_found(&s, 20 * MS, "self-wakes", ""), 1);
	for (unsigned i = 0; i <= 1500; i++) {
		ADD(&s, POLL(i * 10 * US, 0, 1));
		ADD(&s, END(i * 10 * US + US, 0, 0));
	}
	/* it went on to wait: 1500 times in two seconds is not often */
	assert_int_equal(count_found(&s, 2000 * MS, "self-wakes", ""), 0);
}

/* Futures of one task that wake each other do so as well, and work in each poll. */
static void test_work(void **state)
{
	struct script s = { 0 };

	add_spins(&s, MS, 1, 5000, 10 * US);
	assert_int_equal(count_found(&s, 100 * MS, "self-wakes", "self-wakes-poll=2us"), 0);
	add_spins(&s, MS, 1, 5000, 10 * US);
	assert_int_equal(count_found(&s, 100 * MS, "self-wakes", "self-wakes-poll=2001ns"), 1);
}

static void test_near_misses(void **state)
{
	struct script s = { 0 };

	/* gives way every 2 ms in a long job */
	add_spins(&s, MS, 1, 5000, 2 * MS);
	assert_int_equal(count_found(&s, 20000 * MS, "self-wakes", ""), 0);
	/* woken by others as often */
	for (unsigned i = 0; i < 5000; i++) {
		ADD(&s, POLL(i * 30 * US, 0, 1));
		ADD(&s, END(i * 30 * US + US, 0, 0));
		ADD(&s, POLL(i * 30 * US + 2 * US, 0, 1));
		ADD(&s, END(i * 30 * US + 3 * US, 0, 0));
		ADD(&s, WAKE(i * 30 * US + 10 * US, 9, 1, 0));
	}
	assert_int_equal(count_found(&s, 1000 * MS, "self-wakes", ""), 0);
	/* yields: the worker wakes it */
	for (unsigned i = 0; i < 5000; i++) {
		ADD(&s, POLL(i * 10 * US, 0, 1));
		ADD(&s, END(i * 10 * US + US, 0, 0));
		ADD(&s, WAKE(i * 10 * US + 2 * US, 0, 1, 0));
	}
	assert_int_equal(count_found(&s, 1000 * MS, "self-wakes", ""), 0);
}

static void test_limits(void **state)
{
	struct script s = { 0 };

	add_spins(&s, MS, 1, 500, 2 * MS);
	assert_int_equal(count_found(&s, 2000 * MS, "self-wakes",
				     "self-wakes-count=500 self-wakes-rate=500"),
			 0);
	add_spins(&s, MS, 1, 500, 2 * MS);
	assert_int_equal(count_found(&s, 2000 * MS, "self-wakes",
				     "self-wakes-count=500 self-wakes-rate=499"),
			 1);
	add_spins(&s, MS, 1, 500, 2 * MS);
	assert_int_equal(count_found(&s, 2000 * MS, "self-wakes",
				     "self-wakes-count=501 self-wakes-rate=499"),
			 0);
	add_spins(&s, MS, 1, 2000, 10 * US);
	assert_int_equal(count_found(&s, 2000 * MS, "self-wakes", "self-wakes=100%"), 0);
}

/* Who gets the slot of a task that ended begins anew. */
static void test_slots(void **state)
{
	struct script s = { 0 };
	struct found found;

	add_spins(&s, MS, 1, 10000, 2 * US + 1);
	add_spins(&s, 500 * MS, 2, 2000, 10 * US);
	find_all(&found, &s, script_types, 1000 * MS, "");
	assert_int_equal(found_one(&found, "self-wakes")->harm_ns, 24000 * US);
	assert_int_equal(found_one(&found, "self-wakes")->task.id, 1);
	found_release(&found);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),	    cmocka_unit_test(test_alive),
		cmocka_unit_test(test_near_misses), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_slots),	    cmocka_unit_test(test_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
