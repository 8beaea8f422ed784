// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a type whose tasks grow in number all along is found, also when most of them end, and
 * that pools, ramp-ups and what comes and goes are not. */
#include "found.h"

#define SECOND	  (1000 * MS)
#define RECORDING (10 * SECOND)

/* A task from its spawn to its end, 0: it is left. Events must come in order of time. */
static int by_time(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	return (a->time > b->time) - (a->time < b->time);
}

static void add_life(struct script *s, uint64_t id, uint64_t at, uint64_t end)
{
	/* a thread for each, since lives overlap */
	ADD(s, SPAWN(at, id % 500, 0x1000 * id));
	ADD(s, POLL(at + US, id % 500, id));
	ADD(s, END(at + 2 * US, id % 500, 0));
	if (!end)
		return;
	ADD(s, WAKE(end - US, 501, id, 0));
	ADD(s, POLL(end, id % 500, id));
	ADD(s, END(end + US, id % 500, COMPLETE));
}

static void find_leaks(struct found *found, struct script *s, const char *limits)
{
	qsort(s->evs.v, s->evs.nr, sizeof(*s->evs.v), by_time);
	find_all(found, s, script_types, RECORDING, limits);
}

static size_t count_leaks(struct script *s, const char *limits)
{
	struct found found;
	size_t nr;

	find_leaks(&found, s, limits);
	nr = found_count(&found, "task-leak");
	found_release(&found);
	return nr;
}

static void test_leak(void **state)
{
	const struct finding *f;
	struct script s = { 0 };
	struct found found;

	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 100 * MS + MS, 0);
	find_leaks(&found, &s, "");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "task-leak");
	assert_int_equal(f->severity, SEVERITY_NOTE); /* none ended: it may be meant */
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(f->task.id, 1);
	assert_int_equal(f->time_ns, MS);
	assert_int_equal(figure_of(f, "alive"), 100);
	assert_int_equal(figure_of(f, "spawned"), 100);
	assert_int_equal(figure_of(f, "ended"), 0);
	assert_in_range(figure_of(f, "more_per_s"), 9, 10);
	assert_in_range(f->harm_ns, SECOND - MS, SECOND);
	assert_non_null(strstr(f->what, "100 tasks are left at the end"));
	assert_non_null(strstr(f->what, "none of 100 ended"));
	found_release(&found);
}

/* Three of four end after some milliseconds. What the tasks hold is told where it is known. */
static void test_partial_leak(void **state)
{
	struct trace_type types[NR_TYPES];
	const struct finding *f;
	struct script s = { 0 };
	struct found found;

	memcpy(types, script_types, sizeof(types));
	types[ASYNC].size_bytes = 1024;
	for (unsigned i = 0; i < 400; i++)
		add_life(&s, i + 1, i * 25 * MS + MS, i % 4 ? i * 25 * MS + 5 * MS : 0);
	qsort(s.evs.v, s.evs.nr, sizeof(*s.evs.v), by_time);
	find_all(&found, &s, types, RECORDING, "");
	f = found_one(&found, "task-leak");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(figure_of(f, "alive"), 100);
	assert_int_equal(figure_of(f, "ended"), 300);
	assert_int_equal(figure_of(f, "alive_bytes"), 100 * 1024);
	assert_non_null(strstr(f->what, "100KiB"));
	found_release(&found);
}

/* At the end the runtime goes away and takes them along: that is no end of their own. */
static void test_shutdown(void **state)
{
	struct script s = { 0 };
	struct found found;

	for (unsigned i = 0; i < 90; i++) {
		add_life(&s, i + 1, i * 100 * MS + MS, 0);
		ADD(&s, SHUTDOWN(9900 * MS + 2 * i, 0, i + 1));
		ADD(&s, END(9900 * MS + 2 * i + 1, 0, CANCELLED));
	}
	find_leaks(&found, &s, "");
	assert_non_null(strstr(found_one(&found, "task-leak")->what,
			       "90 tasks never ended by themselves (dropped with the runtime)"));
	found_release(&found);
	/* in the middle it is one: each is dropped with what it belongs to */
	for (unsigned i = 0; i < 90; i++) {
		add_life(&s, i + 1, i * 100 * MS + MS, 0);
		ADD(&s, SHUTDOWN(i * 100 * MS + 90 * MS, 0, i + 1));
		ADD(&s, END(i * 100 * MS + 91 * MS, 0, CANCELLED));
	}
	assert_int_equal(count_leaks(&s, ""), 0);
}

static void test_near_misses(void **state)
{
	struct script s = { 0 };

	/* a pool that is made at the start */
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * MS + 1, 0);
	assert_int_equal(count_leaks(&s, ""), 0);
	/* a ramp-up in the first third, or in two thirds */
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 33 * MS + 1, 0);
	assert_int_equal(count_leaks(&s, ""), 0);
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 66 * MS + 1, 0);
	assert_int_equal(count_leaks(&s, ""), 0);
	/* a burst near the end */
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i ? 9 * SECOND + i * MS : 1, 0);
	assert_int_equal(count_leaks(&s, ""), 0);
	/* connections that come and go */
	for (unsigned i = 0; i < 400; i++)
		add_life(&s, i + 1, i * 23 * MS + 1, i * 23 * MS + 700 * MS);
	assert_int_equal(count_leaks(&s, ""), 0);
}

/* More and more of them, but each ends in time. */
static void test_rising_load(void **state)
{
	struct script s = { 0 };
	uint64_t id = 0, at = 1;

	for (unsigned i = 0; at < RECORDING; i++, at += 100 * MS)
		for (unsigned k = 0; k < i; k++) {
			uint64_t end = at + k * US + 300 * MS;

			add_life(&s, ++id, at + k * US, end + US < RECORDING ? end : 0);
		}
	assert_int_equal(count_leaks(&s, ""), 0);
}

/* They arrive all along and stay; and are polled every second, or only in the first half of the
 * time. */
static size_t count_steady(uint64_t until_ns)
{
	struct script s = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = i * 100 * MS + MS;

		add_life(&s, i + 1, at, 0);
		for (uint64_t t = at + SECOND; t < until_ns; t += SECOND) {
			ADD(&s, WAKE(t, 501, i + 1, 0));
			ADD(&s, POLL(t + US, i, i + 1));
			ADD(&s, END(t + 2 * US, i, 0));
		}
	}
	return count_leaks(&s, "");
}

static void test_still_polled(void **state)
{
	assert_int_equal(count_steady(RECORDING), 0);
	assert_int_equal(count_steady(RECORDING / 2), 1);
}

static void test_limits(void **state)
{
	struct script s = { 0 };

	for (unsigned i = 0; i < 10; i++) /* slow, and few */
		add_life(&s, i + 1, i * SECOND + 1, 0);
	assert_int_equal(count_leaks(&s, ""), 0);
	for (unsigned i = 0; i < 10; i++)
		add_life(&s, i + 1, i * SECOND + 1, 0);
	assert_int_equal(count_leaks(&s, "task-leak=8"), 1);
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 100 * MS + 1, 0);
	assert_int_equal(count_leaks(&s, "task-leak-time=11s"), 0);
}

/* Each lost run may have been the last of its task: so many are not counted. */
static void test_loss(void **state)
{
	struct script s = { 0 };

	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 100 * MS + MS, 0);
	ADD(&s, LOST(9950 * MS, 0, RUN_END, 70));
	assert_int_equal(count_leaks(&s, ""), 1);
	for (unsigned i = 0; i < 100; i++)
		add_life(&s, i + 1, i * 100 * MS + MS, 0);
	ADD(&s, LOST(9950 * MS, 0, RUN_END, 90));
	assert_int_equal(count_leaks(&s, ""), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leak),	    cmocka_unit_test(test_partial_leak),
		cmocka_unit_test(test_shutdown),    cmocka_unit_test(test_near_misses),
		cmocka_unit_test(test_rising_load), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_loss),	    cmocka_unit_test(test_still_polled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
