// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that polls which hold their worker are found: asleep, busy, or without an end; and that
 * what is only close to that is not. */
#include "found.h"

/* One poll of a task, asleep for a part of it. */
static void add_poll(struct script *s, uint64_t at, uint64_t id, uint16_t type, uint64_t ns,
		     uint64_t asleep_ns, uint8_t sleep_flags)
{
	ADD(s, START(at, 0, id, type, 0));
	if (asleep_ns) {
		ADD(s, { .time = at + 1, .kind = EV_SLEEP, .flags = sleep_flags });
		ADD(s, EV(at + 1 + asleep_ns, 0, AWAKE));
	}
	ADD(s, END(at + ns, 0, 0));
	ADD(s, WAKE_TYPE(at + ns + 1, 0, id, type, 0));
}

/* nr such polls, a second apart, each asleep to its end. */
static struct script make_sleeps(unsigned nr, uint64_t asleep_ns, uint16_t type, uint8_t flags)
{
	struct script s = { 0 };

	for (unsigned i = 0; i < nr; i++)
		add_poll(&s, (i + 1) * 1000 * MS, 7, type, asleep_ns + MS, asleep_ns, flags);
	return s;
}

static struct script make_busy(unsigned nr, uint64_t ns, uint16_t type)
{
	struct script s = { 0 };

	/* its first poll is short */
	add_poll(&s, MS, 7, type, MS, 0, 0);
	for (unsigned i = 0; i < nr; i++)
		add_poll(&s, (i + 1) * 1000 * MS, 7, type, ns, 0, 0);
	return s;
}

#define RECORDING (100 * 1000 * MS)

static void test_blocked_sleep(void **state)
{
	struct script s = make_sleeps(3, 40 * MS, ASYNC, EF_SLEEP_TIMED);
	const struct finding *f;
	struct found found;

	add_poll(&s, 50000 * MS, 8, ASYNC, 70 * MS, 60 * MS, EF_SLEEP_TIMED);
	add_poll(&s, 60000 * MS, 8, ASYNC, 70 * MS, MS, EF_SLEEP_TIMED); /* short: not counted */
	find_all(&found, &s, script_types, RECORDING, "long-poll=1s");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "blocked-poll");
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(figure_of(f, "polls"), 4);
	assert_int_equal(figure_of(f, "blocked_ns"), 180 * MS);
	assert_int_equal(figure_of(f, "max_ns"), 60 * MS);
	assert_int_equal(f->harm_ns, 180 * MS);
	assert_true(f->has_task);
	assert_int_equal(f->task.id, 8);
	assert_int_equal(f->time_ns, 50000 * MS);
	assert_int_equal(f->span_ns, 60 * MS);
	assert_int_equal(f->thread, 0);
	assert_string_equal(f->what, "4 polls of 10ms or more slept 180ms, the longest 60ms, in "
				     "thread::sleep or a similar call");
	assert_non_null(strstr(f->advice, "tokio::time::sleep"));
	found_release(&found);
}

/* One timed sleep is enough; waiting for a lock may be bad luck, and takes three. */
static void test_blocked_by_kind(void **state)
{
	static const struct {
		uint8_t flags;
		const char *says;
	} certain[] = { { EF_SLEEP_TIMED, "thread::sleep" },
			{ EF_SLEEP_EPOLL, "for I/O" },
			{ EF_SLEEP_POLL | EF_SLEEP_FUTEX, "for I/O" } };
	const struct finding *f;
	struct found found;
	struct script s;

	for (size_t i = 0; i < ARRAY_SIZE(certain); i++) {
		s = make_sleeps(1, 11 * MS, ASYNC, certain[i].flags);
		find_all(&found, &s, script_types, RECORDING, "");
		f = found_one(&found, "blocked-poll");
		assert_int_equal(f->severity, SEVERITY_WARNING);
		assert_non_null(strstr(f->what, certain[i].says));
		found_release(&found);
	}
	s = make_sleeps(2, 11 * MS, ASYNC, EF_SLEEP_FUTEX);
	assert_int_equal(count_found(&s, RECORDING, "blocked-poll", ""), 0);
	s = make_sleeps(3, 11 * MS, ASYNC, EF_SLEEP_FUTEX);
	find_all(&found, &s, script_types, RECORDING, "");
	f = found_one(&found, "blocked-poll");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_non_null(strstr(f->what, "lock"));
	assert_non_null(strstr(f->advice, "tokio::sync"));
	found_release(&found);
	/* one that is three times as long counts three times, and for the other limit once */
	s = make_sleeps(1, 51 * MS, ASYNC, EF_SLEEP_FUTEX);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_one(&found, "blocked-poll")->severity, SEVERITY_WARNING);
	found_release(&found);
	s = make_sleeps(3, 51 * MS, ASYNC, EF_SLEEP_FUTEX);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_one(&found, "blocked-poll")->severity, SEVERITY_CRITICAL);
	found_release(&found);
}

/* What is told is what the long sleeps were, not the many short ones. */
static void test_blocked_worst_kind(void **state)
{
	struct script s = make_sleeps(99, 3 * MS, ASYNC, EF_SLEEP_FUTEX);
	const struct finding *f;
	struct found found;

	add_poll(&s, 99500 * MS, 8, ASYNC, 61 * MS, 60 * MS, EF_SLEEP_TIMED);
	find_all(&found, &s, script_types, RECORDING, "");
	f = found_one(&found, "blocked-poll");
	assert_string_equal(f->what, "1 poll slept 60ms, in thread::sleep or a similar call");
	assert_non_null(strstr(f->advice, "tokio::time::sleep"));
	found_release(&found);
}

/* To print a panic takes long, and locks: lost-panic tells of it. */
static void test_panics(void **state)
{
	for (unsigned is_panicked = 0; is_panicked < 2; is_panicked++) {
		uint8_t how = is_panicked ? EF_END_PANICKED : EF_END_COMPLETE;
		struct script s = { 0 };
		struct found found;

		for (unsigned i = 0; i < 9; i++) {
			ADD(&s, POLL(i * 1000 * MS, 0, i));
			ADD(&s, { .time = i * 1000 * MS + 1,
				  .kind = EV_SLEEP,
				  .flags = EF_SLEEP_FUTEX });
			ADD(&s, EV(i * 1000 * MS + 20 * MS, 0, AWAKE));
			ADD(&s, { .time = i * 1000 * MS + 90 * MS,
				  .kind = EV_RUN_END,
				  .flags = how | EF_END_WANTED });
		}
		find_all(&found, &s, script_types, RECORDING, "");
		assert_int_equal(found_count(&found, "blocked-poll"), !is_panicked);
		assert_int_equal(found_count(&found, "long-poll"), !is_panicked);
		found_release(&found);
		/* the recording ends while it is printed */
		ADD(&s, POLL(MS, 0, 1));
		ADD(&s, { .time = 2 * MS, .kind = is_panicked ? EV_PANIC : EV_THREAD_NAME });
		find_all(&found, &s, script_types, 900 * MS, "");
		assert_int_equal(found_count(&found, "long-poll"), !is_panicked);
		found_release(&found);
	}
}

static void test_blocked_near_misses(void **state)
{
	struct script s = make_sleeps(9, 9 * MS, ASYNC, EF_SLEEP_TIMED);

	assert_int_equal(count_found(&s, RECORDING, "blocked-poll", ""), 0);
	/* that is what the blocking pool is for */
	s = make_sleeps(9, 90 * MS, BLOCKING, EF_SLEEP_TIMED);
	assert_int_equal(count_found(&s, RECORDING, "blocked-poll", ""), 0);
	/* limits are the user's */
	s = make_sleeps(9, 90 * MS, ASYNC, EF_SLEEP_TIMED);
	assert_int_equal(count_found(&s, RECORDING, "blocked-poll",
				     "blocked-poll=91ms blocked-poll-share=50%"),
			 0);
	s = make_sleeps(1, 3 * MS, ASYNC, EF_SLEEP_TIMED);
	assert_int_equal(count_found(&s, RECORDING, "blocked-poll", "blocked-poll=3ms"), 1);
}

/* None is long, but together they take more than 5 % of the time. */
static void test_blocked_share(void **state)
{
	struct script s = make_sleeps(99, 4 * MS, ASYNC, EF_SLEEP_FUTEX);
	const struct finding *f;
	struct found found;

	assert_int_equal(count_found(&s, RECORDING, "blocked-poll", ""), 0);
	s = make_sleeps(10, 6 * MS, ASYNC, EF_SLEEP_FUTEX);
	find_all(&found, &s, script_types, 11000 * MS, "blocked-poll-share=0");
	f = found_one(&found, "blocked-poll");
	assert_int_equal(figure_of(f, "polls"), 10);
	assert_int_equal(f->harm_ns, 60 * MS);
	found_release(&found);
	for (unsigned i = 0; i < 1000; i++)
		add_poll(&s, (i + 1) * 100 * MS, 7, ASYNC, 7 * MS, 6 * MS, EF_SLEEP_FUTEX);
	find_all(&found, &s, script_types, RECORDING, "");
	f = found_one(&found, "blocked-poll");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(figure_of(f, "polls"), 1000);
	assert_int_equal(f->harm_ns, 6000 * MS);
	found_release(&found);
}

/* A poll that gave its worker away blocks nobody. */
static void test_off_worker(void **state)
{
	struct script s = { 0 };
	struct found found;

	ADD(&s, START(1, 0, 90, LAUNCH, 0));
	ADD(&s, POLL(10, 0, 1));
	ADD(&s, SPAWN(11, 0, 0x5b000));
	ADD(&s, { .time = 12, .kind = EV_SLEEP, .flags = EF_SLEEP_TIMED });
	ADD(&s, START(20, 1, 91, LAUNCH, 0));
	ADD(&s, EV(2000 * MS, 0, AWAKE));
	ADD(&s, END(4000 * MS, 0, COMPLETE));
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_count(&found, "blocked-poll"), 0);
	assert_int_equal(found_count(&found, "long-poll"), 0);
	assert_int_equal(found_count(&found, "never-yields"), 0);
	found_release(&found);
}

static void test_long(void **state)
{
	struct script s = make_busy(5, 11 * MS, ASYNC);
	const struct finding *f;
	struct found found;

	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "long-poll");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(figure_of(f, "polls"), 5);
	assert_int_equal(figure_of(f, "busy_ns"), 55 * MS);
	assert_int_equal(f->harm_ns, 55 * MS);
	assert_int_equal(f->task.id, 7);
	assert_int_equal(f->time_ns, 1000 * MS);
	assert_string_equal(f->what,
			    "5 polls of 10ms or more kept their worker for 55ms, the longest "
			    "11ms");
	found_release(&found);
	/* one is enough when it is long enough */
	s = make_busy(1, 50 * MS, ASYNC);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_one(&found, "long-poll")->severity, SEVERITY_WARNING);
	found_release(&found);
	s = make_busy(5, 50 * MS, ASYNC);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_one(&found, "long-poll")->severity, SEVERITY_CRITICAL);
	found_release(&found);
	s = make_busy(1, 250 * MS, ASYNC);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found_one(&found, "long-poll")->severity, SEVERITY_CRITICAL);
	found_release(&found);
}

static void test_long_near_misses(void **state)
{
	struct script s = make_busy(4, 11 * MS, ASYNC); /* the kernel took its CPU, now and then */

	assert_int_equal(count_found(&s, RECORDING, "long-poll", ""), 0);
	s = make_busy(90, 9 * MS, ASYNC);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", ""), 0);
	s = make_busy(90, 900 * MS, BLOCKING);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", ""), 0);
	/* asleep: somebody else's */
	s = make_sleeps(90, 90 * MS, ASYNC, EF_SLEEP_TIMED);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", ""), 0);
	s = make_busy(5, 11 * MS, ASYNC);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", "long-poll=12ms"), 0);
	s = make_busy(5, 11 * MS, ASYNC);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", "long-poll-count=6"), 0);
	s = make_busy(1, 2 * MS, ASYNC);
	assert_int_equal(count_found(&s, RECORDING, "long-poll", "long-poll=2ms long-poll-count=1"),
			 1);
}

/* Said once: that the one poll was long is no news then. */
static void test_never_yields(void **state)
{
	const struct finding *f;
	struct script s = { 0 };
	struct found found;

	ADD(&s, POLL(10 * MS, 3, 1));
	ADD(&s, END(1310 * MS, 3, COMPLETE));
	ADD(&s, POLL(1400 * MS, 3, 2)); /* still in it when the recording ends */
	find_all(&found, &s, script_types, 3000 * MS, "");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "never-yields");
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_int_equal(figure_of(f, "tasks"), 2);
	assert_int_equal(figure_of(f, "open"), 1);
	assert_int_equal(figure_of(f, "busy_ns"), 2900 * MS);
	assert_int_equal(f->harm_ns, 2900 * MS);
	assert_int_equal(f->task.id, 2);
	assert_int_equal(f->thread, 3);
	assert_int_equal(f->time_ns, 1400 * MS);
	found_release(&found);
	/* left out, or with another long poll of the type, the long ones are said */
	ADD(&s, POLL(10 * MS, 3, 1));
	ADD(&s, END(1310 * MS, 3, COMPLETE));
	ADD(&s, POLL(1400 * MS, 3, 2));
	ADD(&s, END(1401 * MS, 3, 0));
	ADD(&s, POLL(1500 * MS, 3, 2));
	ADD(&s, END(1600 * MS, 3, 0));
	find_all(&found, &s, script_types, 3000 * MS, "");
	assert_int_equal(found_one(&found, "never-yields")->harm_ns, 1300 * MS);
	assert_int_equal(found_one(&found, "long-poll")->harm_ns, 1400 * MS);
	found_release(&found);
}

static void test_never_yields_near_misses(void **state)
{
	struct script s = { 0 };

	/* a second poll follows */
	ADD(&s, POLL(10 * MS, 0, 1));
	ADD(&s, END(1310 * MS, 0, 0));
	ADD(&s, POLL(1400 * MS, 0, 1));
	ADD(&s, END(1401 * MS, 0, COMPLETE));
	/* asleep for most of it */
	ADD(&s, POLL(2000 * MS, 0, 2));
	ADD(&s, { .time = 2001 * MS, .kind = EV_SLEEP, .flags = EF_SLEEP_TIMED });
	ADD(&s, EV(3900 * MS, 0, AWAKE));
	ADD(&s, END(4000 * MS, 0, COMPLETE));
	/* almost a second; on the blocking pool; cancelled before its poll */
	ADD(&s, POLL(5000 * MS, 0, 3));
	ADD(&s, END(5999 * MS, 0, COMPLETE));
	ADD(&s, START(6000 * MS, 0, 4, BLOCKING, 0));
	ADD(&s, END(8000 * MS, 0, COMPLETE));
	ADD(&s, START(8000 * MS, 0, 5, ASYNC, EF_RUN_DROP));
	ADD(&s, END(9900 * MS, 0, CANCELLED));
	assert_int_equal(count_found(&s, 10000 * MS, "never-yields", ""), 0);
	ADD(&s, POLL(5000 * MS, 0, 3));
	ADD(&s, END(5500 * MS, 0, COMPLETE));
	assert_int_equal(count_found(&s, 10000 * MS, "never-yields", "never-yields=500ms"), 1);
}

/* Worst first: by severity, then by harm; the same rule for two types is two findings. */
static void test_order(void **state)
{
	struct script s = { 0 };
	struct found found;

	for (unsigned i = 0; i < 5; i++) {
		add_poll(&s, (10 * i + 1) * 1000 * MS, 1, ASYNC, 11 * MS, 0, 0);
		add_poll(&s, (10 * i + 2) * 1000 * MS, 2, LOCAL, 12 * MS, 0, 0);
		add_poll(&s, (10 * i + 3) * 1000 * MS, 3, STRIPPED_TASK, 52 * MS, 51 * MS,
			 EF_SLEEP_TIMED);
	}
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found.nr, 3);
	assert_string_equal(found.v[0].analysis->name, "blocked-poll");
	assert_int_equal(found.v[0].type, STRIPPED_TASK);
	assert_int_equal(found.v[1].type, LOCAL);
	assert_int_equal(found.v[2].type, ASYNC);
	found_release(&found);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked_sleep),
		cmocka_unit_test(test_blocked_by_kind),
		cmocka_unit_test(test_blocked_worst_kind),
		cmocka_unit_test(test_panics),
		cmocka_unit_test(test_blocked_near_misses),
		cmocka_unit_test(test_blocked_share),
		cmocka_unit_test(test_off_worker),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_long_near_misses),
		cmocka_unit_test(test_never_yields),
		cmocka_unit_test(test_never_yields_near_misses),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
