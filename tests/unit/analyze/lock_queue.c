// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that an async lock with a lasting queue is found, at the line that awaits it, and that one
 * which is contended now and then is not. */
#include "paths.h"

#include "found.h"

/* Each of nr tasks in turn has the lock for 5 ms, 30 times in all; pause: how long it then is free.
 */
static struct script take_turns(unsigned nr, uint64_t pause, unsigned path)
{
	struct script s = { 0 };
	uint64_t now = 1 * MS;

	for (unsigned i = 0; i < nr; i++) {
		ADD(&s, POLL_AT(i * US, 0, 1 + i, AT_START));
		ADD(&s, END(i * US + 500, 0, 0));
	}
	for (unsigned turn = 0; turn < 30; turn++) {
		ADD(&s, WAKE(now, 0, 1 + turn % nr, 0));
		ADD(&s, POLL_AT(now + US, 0, 1 + turn % nr, path));
		ADD(&s, END(now + 2 * US, 0, 0));
		/* in the pause all are at another line */
		for (unsigned i = 0; pause && i < nr; i++) {
			ADD(&s, POLL_AT(now + 5 * MS + pause - (1 + i) * 10 * US, 0, 1 + i, AT_A));
			ADD(&s, END(now + 5 * MS + pause - (1 + i) * 10 * US + US, 0, 0));
		}
		now += 5 * MS + pause;
	}
	return s;
}

static void find(struct found *found, struct script *s, const char *limits)
{
	find_all_in(found, s, &path_rec, 1000 * MS, limits);
}

static size_t count(struct script s, const char *limits)
{
	struct found found;
	size_t nr;

	find(&found, &s, limits);
	nr = found_count(&found, "lock-queue");
	found_release(&found);
	return nr;
}

static void test_queue(void **state)
{
	struct script s = take_turns(6, 0, AT_B);
	const struct finding *f;
	struct found found;

	find(&found, &s, "");
	f = found_one(&found, "lock-queue");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->step, FIRST_B); /* the program's line, not the library's */
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(figure_of(f, "waits"), 30);
	assert_int_equal(figure_of(f, "tasks"), 6);
	assert_int_equal(figure_of(f, "waiters"), 5);
	assert_true(figure_of(f, "max_ns") >= 29 * MS && figure_of(f, "max_ns") <= 31 * MS);
	found_release(&found);
}

static void test_near_misses(void **state)
{
	/* two tasks: one waits at a time */
	assert_int_equal(count(take_turns(2, 0, AT_B), ""), 0);
	/* another line, a timer */
	assert_int_equal(count(take_turns(6, 0, AT_A), ""), 0);
	/* the limits */
	assert_int_equal(count(take_turns(6, 0, AT_B), "lock-queue=5"), 1);
	assert_int_equal(count(take_turns(6, 0, AT_B), "lock-queue=6"), 0);
	assert_int_equal(count(take_turns(6, 0, AT_B), "lock-queue-count=31"), 0);
	assert_int_equal(count(take_turns(6, 0, AT_B), "lock-queue-span=200ms"), 0);
	/* most of the time they are elsewhere */
	assert_int_equal(count(take_turns(6, 100 * MS, AT_B), ""), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_near_misses),
	};

	return cmocka_run_group_tests(tests, make_path_rec, release_path_rec);
}
