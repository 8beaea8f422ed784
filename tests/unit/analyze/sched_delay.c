// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks which wait for a worker are found, together with who held it, and that what
 * nobody held is not blamed on anybody. */
#include "found.h"

#define RECORDING (100 * 1000 * MS)

/* A poll of the holder on thread 0 during which a victim is woken, 1 ms after its start. */
static void add_hold(struct script *s, uint64_t at, uint64_t holder, uint64_t ns, uint64_t victim,
		     uint16_t victim_type)
{
	ADD(s, START(at, 0, holder, LOCAL, 0));
	ADD(s, WAKE_TYPE(at + MS, 9, victim, victim_type, 0));
	ADD(s, END(at + ns, 0, 0));
	ADD(s, START(at + ns + US, 0, victim, victim_type, 0));
	ADD(s, END(at + ns + 2 * US, 0, 0));
}

static struct script make_holds(unsigned nr, uint64_t ns)
{
	struct script s = { 0 };

	for (unsigned i = 0; i < nr; i++)
		add_hold(&s, (i + 1) * 1000 * MS, 50 + i, ns + i * US, 7, ASYNC);
	return s;
}

static void test_holder(void **state)
{
	struct script s = make_holds(5, 8 * MS);
	const struct finding *f;
	struct found found;

	add_hold(&s, 50000 * MS, 60, 7 * MS, 8, STRIPPED_TASK);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_int_equal(found.nr, 1);
	f = found_one(&found, "sched-delay");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_true(f->is_consequence);
	assert_int_equal(f->type, LOCAL); /* the holder's */
	assert_int_equal(f->task.id, 54);
	assert_int_equal(f->thread, 0);
	assert_int_equal(f->time_ns, 5000 * MS);
	assert_int_equal(f->span_ns, 8 * MS + 4 * US);
	assert_int_equal(figure_of(f, "polls"), 6);
	assert_int_equal(figure_of(f, "types"), 2);
	assert_int_equal(figure_of(f, "holders"), 6);
	assert_int_equal(figure_of(f, "victim"), 7);
	assert_int_equal(figure_of(f, "max_ns"), 7 * MS + 5 * US);
	assert_int_equal(figure_of(f, "wait_ns"),
			 5 * 7 * MS + (1 + 2 + 3 + 4 + 5) * US + 6 * MS + US);
	assert_int_equal(f->harm_ns, 5 * 7 * MS + (0 + 1 + 2 + 3 + 4) * US + 6 * MS);
	assert_non_null(strstr(f->what, "6 of its polls kept 6 others of 2 types waiting"));
	assert_non_null(strstr(f->what, "(task 7)"));
	assert_non_null(strstr(f->advice, "task 54"));
	found_release(&found);
}

/* The holder's time is lost once, however many wait for it. */
static void test_many_victims_of_one(void **state)
{
	const struct finding *f;
	struct script s = { 0 };
	struct found found;

	ADD(&s, START(1000 * MS, 0, 50, LOCAL, 0));
	for (unsigned i = 0; i < 40; i++)
		ADD(&s, WAKE(1001 * MS + i, 9, 139 - i, 0)); /* who waits longest runs last */
	ADD(&s, END(1061 * MS, 0, 0));
	for (unsigned i = 0; i < 40; i++) {
		ADD(&s, POLL(1061 * MS + 2 * i, 0, 100 + i));
		ADD(&s, END(1061 * MS + 2 * i + 1, 0, 0));
	}
	find_all(&found, &s, script_types, RECORDING, "");
	f = found_one(&found, "sched-delay");
	assert_int_equal(figure_of(f, "polls"), 40);
	assert_int_equal(figure_of(f, "holders"), 1);
	assert_int_equal(f->harm_ns, 60 * MS);
	/* what it follows from comes first */
	assert_int_equal(found.nr, 2);
	assert_string_equal(found.v[0].analysis->name, "long-poll");
	found_release(&found);
}

/* None is long enough alone, but all are of one type: nr of them, one after the other, 5 times. */
static void add_crowd(struct script *s, unsigned nr, uint64_t ns)
{
	for (unsigned round = 1; round <= 5; round++) {
		uint64_t at = round * 100 * MS;

		ADD(s, WAKE(at, 9, 7, 0));
		for (unsigned i = 0; i < nr; i++) {
			ADD(s, START(at + i * ns, 0, 50 + i, LOCAL, 0));
			ADD(s, END(at + (i + 1) * ns - US, 0, 0));
		}
		ADD(s, POLL(at + nr * ns, 0, 7));
		ADD(s, END(at + nr * ns + 1, 0, 0));
	}
}

static void test_many_holders(void **state)
{
	struct script s = { 0 };
	struct found found;

	add_crowd(&s, 8, 2 * MS);
	find_all(&found, &s, script_types, 1000 * MS, "");
	assert_int_equal(found_one(&found, "sched-delay")->type, LOCAL);
	assert_int_equal(figure_of(found_one(&found, "sched-delay"), "holders"), 40);
	found_release(&found);
	add_crowd(&s, 20, MS);
	find_all(&found, &s, script_types, 1000 * MS, "");
	assert_int_equal(figure_of(found_one(&found, "sched-delay"), "holders"), 100);
	found_release(&found);
	/* a burst, which is soon over and costs little */
	add_crowd(&s, 8, 2 * MS);
	assert_int_equal(count_found(&s, 5000 * MS, "sched-delay", ""), 0);
	/* short polls, of which there are many: nobody's fault */
	add_crowd(&s, 200, 200 * US);
	assert_int_equal(count_found(&s, 1000 * MS, "sched-delay", ""), 0);
}

/* A holder that slept held the worker for sure, so one is enough, if it delays several. */
static void add_sleeping_hold(struct script *s, unsigned nr_victims)
{
	ADD(s, START(1000 * MS, 0, 50, LOCAL, 0));
	ADD(s, EV(1000 * MS + US, 0, SLEEP));
	for (unsigned i = 0; i < nr_victims; i++)
		ADD(s, WAKE(1001 * MS + i, 9, 100 + i, 0));
	ADD(s, EV(1008 * MS, 0, AWAKE));
	ADD(s, END(1008 * MS, 0, 0));
	for (unsigned i = 0; i < nr_victims; i++) {
		ADD(s, POLL(1008 * MS + i * US, 0, 100 + i));
		ADD(s, END(1008 * MS + i * US + 1, 0, 0));
	}
}

static void test_sleeping_holder(void **state)
{
	struct script s = { 0 };
	struct found found;

	add_sleeping_hold(&s, 5);
	find_all(&found, &s, script_types, RECORDING, "");
	assert_non_null(strstr(found_one(&found, "sched-delay")->advice, "blocked-poll"));
	found_release(&found);
	add_sleeping_hold(&s, 4);
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
}

static void test_near_misses(void **state)
{
	struct script s = make_holds(4, 8 * MS); /* the kernel took the CPU, now and then */

	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
	s = make_holds(20, 5 * MS); /* waits of 4 ms */
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
	s = make_holds(20, 5 * MS);
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", "sched-delay=4ms"), 1);
	s = make_holds(20, 8 * MS);
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", "sched-delay-count=21"), 0);
	/* closures that wait for a thread of the blocking pool */
	for (unsigned i = 1; i < 20; i++)
		add_hold(&s, i * 1000 * MS, 50, 8 * MS, 100 + i, BLOCKING);
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
	/* the long run was on another thread */
	for (unsigned i = 1; i < 20; i++) {
		ADD(&s, START(i * 1000 * MS, 1, 50, LOCAL, 0));
		ADD(&s, WAKE(i * 1000 * MS + 1, 9, 7, 0));
		ADD(&s, POLL(i * 1000 * MS + 8 * MS, 0, 7));
		ADD(&s, END(i * 1000 * MS + 8 * MS + 1, 0, 0));
		ADD(&s, END(i * 1000 * MS + 9 * MS, 1, 0));
	}
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
	/* it held the worker for less than half of the wait */
	for (unsigned i = 1; i < 20; i++) {
		ADD(&s, WAKE(i * 1000 * MS, 9, 7, 0));
		ADD(&s, START(i * 1000 * MS + 1, 0, 50, LOCAL, 0));
		ADD(&s, END(i * 1000 * MS + 7 * MS, 0, 0));
		ADD(&s, POLL(i * 1000 * MS + 15 * MS, 0, 7));
		ADD(&s, END(i * 1000 * MS + 15 * MS + 1, 0, 0));
	}
	assert_int_equal(count_found(&s, RECORDING, "sched-delay", ""), 0);
}

/* nr waits of 6 ms each, 7 ms apart; meanwhile the worker has short polls, or nothing to do. */
static uint64_t add_overload(struct script *s, unsigned nr, bool is_busy)
{
	uint64_t at = MS;

	for (unsigned i = 0; i < nr; i++, at += 7 * MS) {
		ADD(s, WAKE(at, 9, 7, 0));
		for (unsigned k = 0; k < 15 && is_busy; k++) {
			ADD(s, START(at + (k * 400 + 1) * US, 0, 50, LOCAL, 0));
			ADD(s, END(at + (k + 1) * 400 * US, 0, 0));
		}
		ADD(s, POLL(at + 6 * MS + i, 0, 7));
		ADD(s, END(at + 6 * MS + i + 1, 0, 0));
	}
	return at;
}

/* A hundred waits of 6 ms, in each of which the worker sleeps. */
static void add_late_awakes(struct script *s)
{
	for (uint64_t at = 10 * MS; at <= 1000 * MS; at += 10 * MS) {
		ADD(s, EV(at - MS, 0, SLEEP));
		ADD(s, WAKE(at, 9, 7, 0));
		ADD(s, EV(at + 6 * MS, 0, AWAKE));
		ADD(s, POLL(at + 6 * MS, 0, 7));
		ADD(s, END(at + 6 * MS + 1, 0, 0));
	}
}

/* Many late polls that nobody held: a note about the machine or the load, and about no type. */
static void test_unheld(void **state)
{
	const struct finding *f;
	struct script s = { 0 };
	struct found found;
	uint64_t end_ns = add_overload(&s, 100, true);

	find_all(&found, &s, script_types, end_ns, "sched-delay-share=5%");
	f = found_one(&found, "sched-delay");
	assert_int_equal(f->severity, SEVERITY_NOTE);
	assert_int_equal(f->type, EVENT_TYPE_NONE);
	assert_int_equal(figure_of(f, "polls"), 100);
	assert_int_equal(figure_of(f, "max_ns"), 6 * MS + 99);
	assert_int_equal(f->task.id, 7);
	assert_int_equal(f->time_ns, MS + 99 * 7 * MS);
	assert_non_null(strstr(f->what, "no long poll held"));
	found_release(&found);
	/* asleep meanwhile: woken late */
	add_late_awakes(&s);
	find_all(&found, &s, script_types, 1010 * MS, "");
	assert_non_null(strstr(found_one(&found, "sched-delay")->what, "slept meanwhile"));
	found_release(&found);
}

static size_t overloads(unsigned nr, bool is_busy, uint64_t rest_ns, const char *limits)
{
	struct script s = { 0 };
	uint64_t end_ns = add_overload(&s, nr, is_busy);

	return count_found(&s, end_ns + rest_ns, "sched-delay", limits);
}

static void test_unheld_near_misses(void **state)
{
	struct script s = { 0 };

	assert_int_equal(overloads(99, true, 0, "sched-delay-share=5%"), 0);
	/* a small part of all polls */
	assert_int_equal(overloads(100, true, 0, ""), 0);
	/* a burst: there were no waits in most of the time, or the workers were not busy */
	assert_int_equal(overloads(100, true, 800 * MS, "sched-delay-share=5%"), 0);
	assert_int_equal(overloads(100, true, 90 * MS, "sched-delay-share=5%"), 1);
	assert_int_equal(overloads(100, true, 200 * MS, "sched-delay-share=5%"), 0);
	assert_int_equal(overloads(100, false, 0, ""), 0);
	add_late_awakes(&s);
	assert_int_equal(count_found(&s, 1250 * MS, "sched-delay", ""), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holder),
		cmocka_unit_test(test_many_victims_of_one),
		cmocka_unit_test(test_many_holders),
		cmocka_unit_test(test_sleeping_holder),
		cmocka_unit_test(test_near_misses),
		cmocka_unit_test(test_unheld),
		cmocka_unit_test(test_unheld_near_misses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
