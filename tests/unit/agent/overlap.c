// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls that do not nest: a program may switch stacks inside a poll, leave one for good, or end one
 * on another thread. Every start and end is told of the right task, or counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "fake_tokio.h"

#define NR 4

static struct fake_task tasks[NR];
static struct core_entry runs[NR];

static int set_up_tasks(void **state)
{
	int rc = set_up(state);

	for (unsigned i = 0; i < NR; i++)
		tasks[i] = (struct fake_task){ .state = INITIAL,
					       .vtable = (uint64_t)fake_table,
					       .id = 'a' + i };
	skip_all(my_slot());
	return rc;
}

/* What the ring has: (a is a start of a, ) an end of what began last, )a one of a; ? a hole, !
 * other losses. */
static const char *told(struct wire_thread *t)
{
	static char text[4096];
	uint64_t w[5], of = 0;
	unsigned kind, nr = 0;

	while ((kind = take_event(t, w)) && nr + 3 < sizeof(text)) {
		if (kind == EV_RUN_START)
			nr += snprintf(text + nr, 3, "(%c", (char)w[1]);
		else if (kind == EV_END_OF)
			of = w[1] & EVENT_ID_MASK;
		else if (kind == EV_RUN_END && of)
			nr += snprintf(text + nr, 3, ")%c", (char)of);
		else if (kind == EV_RUN_END)
			text[nr++] = ')';
		else if (kind == EV_LOST)
			text[nr++] = w[1] ? '!' : '?';
		if (kind != EV_END_OF)
			of = 0;
	}
	text[nr] = '\0';
	return text;
}

static void nothing_lost(const struct wire_thread *t)
{
	for (unsigned kind = 0; kind < EV_MAX; kind++)
		assert_int_equal(t->lost[kind], 0);
	for (unsigned i = 0; i < NR; i++)
		assert_int_equal(tasks[i].state, INITIAL);
}

/* Two coroutines, each in a poll, end in the order in which they began. */
static void test_interleaved(void **state)
{
	struct wire_thread *t = mine;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	enter(&runs[2], &tasks[2]);
	leave(&runs[0]);
	enter(&runs[0], &tasks[0]);
	leave(&runs[1]);
	leave(&runs[0]);
	leave(&runs[2]);
	assert_string_equal(told(t), "(a(b(c)a(a)b))");
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
	nothing_lost(t);
}

/* The number of an entry that another run has now ends nothing. */
static void test_stale_number(void **state)
{
	struct wire_thread *t = mine;
	struct core_entry gone;

	enter(&runs[0], &tasks[0]);
	gone = runs[0];
	leave(&runs[0]);
	enter(&runs[1], &tasks[1]);
	tasks[0].state += 64;
	leave(&gone);
	leave(&runs[1]);
	assert_string_equal(told(t), "(a)(b)");
	nothing_lost(t);
}

/* A poll that the program jumped out of stays open; what is around it and what follows is told. */
static void test_abandoned(void **state)
{
	struct wire_thread *t = mine;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	leave(&runs[0]);
	for (unsigned i = 0; i < 1000; i++) {
		enter(&runs[2], &tasks[2]);
		leave(&runs[2]);
		assert_string_equal(told(t), i ? "(c)" : "(a(b)a(c)");
	}
	assert_int_equal(tasks[0].state, INITIAL);
	assert_int_equal(t->lost[EV_RUN_END], 0);
}

/* Of so many of them all are forgotten at last, and counted; then there is room again. */
static void test_many_abandoned(void **state)
{
	enum { MAX = WIRE_RUNS_BYTES / sizeof(struct wire_run) - 1 };
	struct wire_thread *t = mine;
	unsigned nr_told = 0;

	for (unsigned i = 0; i < 3 * MAX; i++) {
		enter(&runs[1], &tasks[1]);
		for (const char *text = told(t); *text; text++)
			nr_told += *text == '(';
	}
	assert_int_equal(nr_told, 3 * MAX);
	assert_int_equal(t->lost[EV_RUN_START], 0);
	assert_int_equal(t->lost[0], 0);
	assert_int_equal(t->lost[EV_RUN_END], 2 * MAX);
	enter(&runs[2], &tasks[2]);
	leave(&runs[2]);
}

static __attribute__((noinline)) void nest(unsigned depth)
{
	struct core_entry run = core_enter((uint64_t)&tasks[depth % NR], CORE_POLL, mine);

	if (depth > 1)
		nest(depth - 1);
	leave(&run);
}

static int set_up_large(void **state)
{
	int rc;

	world_init_rings(1, 1 << 16);
	rc = hook_fake_table();
	for (unsigned i = 0; i < NR; i++)
		tasks[i] = (struct fake_task){ .state = INITIAL,
					       .vtable = (uint64_t)fake_table,
					       .id = 'a' + i };
	skip_all(my_slot());
	return rc;
}

/* Polls that are nested too deeply are lost whole. */
static void test_too_deep(void **state)
{
	enum { MAX = WIRE_RUNS_BYTES / sizeof(struct wire_run) - 1, DEPTH = MAX + 20 };
	struct wire_thread *t = mine;

	nest(DEPTH);
	assert_int_equal(t->lost[EV_RUN_START], 20);
	assert_int_equal(t->lost[EV_RUN_END], 20);
	assert_int_equal(t->lost[0], 0);
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
	for (unsigned i = 0; i < NR; i++)
		assert_int_equal(tasks[i].state, INITIAL);
}

static void *leave_elsewhere(void *run)
{
	struct wire_thread *t = my_slot();

	leave(run);
	return t;
}

static struct wire_thread *leave_on_other_thread(struct core_entry *run)
{
	pthread_t thread;
	void *slot;

	pthread_create(&thread, NULL, leave_elsewhere, run);
	pthread_join(thread, &slot);
	return slot;
}

/* A coroutine takes a run to another thread: that one tells its end, by name. */
static void test_other_thread(void **state)
{
	struct wire_thread *t = mine, *other;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	other = leave_on_other_thread(&runs[1]);
	assert_string_equal(told(other), ")b");
	leave(&runs[0]);
	assert_string_equal(told(t), "(a(b)");
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
	nothing_lost(t);
	nothing_lost(other);
}

/* The outer run ends before the inner one does so elsewhere. */
static void test_other_thread_later(void **state)
{
	struct wire_thread *t = mine;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	leave(&runs[0]);
	assert_string_equal(told(leave_on_other_thread(&runs[1])), ")b");
	enter(&runs[2], &tasks[2]);
	core_wake_running((uint64_t)&tasks[1]); /* runs nowhere here: it is no wake by itself */
	leave(&runs[2]);
	assert_string_equal(told(t), "(a(b)a(c)");
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
	nothing_lost(t);
}

/* Any number of runs may have gone to other threads before the first thread looks. */
static void test_many_elsewhere(void **state)
{
	enum { NR_MOVED = 40 };
	static struct core_entry moved[NR_MOVED];
	struct wire_thread *t = mine;

	for (unsigned i = 0; i < NR_MOVED; i++)
		enter(&moved[i], &tasks[i % NR]);
	for (unsigned i = 0; i < NR_MOVED; i++)
		leave_on_other_thread(&moved[i]);
	core_wake_running((uint64_t)&tasks[0]);
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
	assert_int_equal(t->has_left, 0);
	nothing_lost(t);
}

/* A thread that was held up says so late, when the slot may be another thread's: one look at the
 * words is all that comes of it. */
static void test_late_word(void **state)
{
	struct wire_thread *t = mine;

	t->has_left = 1;
	enter(&runs[0], &tasks[0]);
	leave(&runs[0]);
	enter(&runs[0], &tasks[0]);
	core_wake_running((uint64_t)&tasks[0]);
	leave(&runs[0]);
	assert_int_equal(t->has_left, 0);
	nothing_lost(t);
}

static void *leave_without_room(void *run)
{
	struct wire_thread *t = my_slot();

	while (!t->lost[EV_SLEEP])
		core_sleep(0);
	leave(run);
	return t;
}

/* An end that finds no room there is counted, and the reader of the first thread learns that it
 * does not know what is open. */
static void test_other_thread_full(void **state)
{
	struct wire_thread *t = mine;
	pthread_t thread;
	void *slot;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	pthread_create(&thread, NULL, leave_without_room, &runs[1]);
	pthread_join(thread, &slot);
	assert_int_equal(((struct wire_thread *)slot)->lost[EV_RUN_END], 1);
	leave(&runs[0]);
	enter(&runs[2], &tasks[2]);
	leave(&runs[2]);
	assert_string_equal(told(t), "(a(b?!(c)");
	assert_int_equal(t->lost[EV_RUN_END], 1);
}

/* So does one that finds no room on its own. */
static void test_full(void **state)
{
	struct wire_thread *t = mine;
	unsigned nr_ends = 0;

	enter(&runs[0], &tasks[0]);
	enter(&runs[1], &tasks[1]);
	while (!t->lost[EV_SLEEP])
		core_sleep(0);
	leave(&runs[0]);
	leave(&runs[1]);
	for (const char *text = told(t); *text; text++)
		nr_ends += *text == ')';
	assert_int_equal(nr_ends, 0);
	assert_int_equal(t->lost[EV_RUN_END], 2);
	enter(&runs[2], &tasks[2]);
	leave(&runs[2]);
	assert_string_equal(told(t), "?!!(c)");
	assert_int_equal(tasks[0].state, INITIAL);
	assert_int_equal(tasks[1].state, INITIAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_interleaved, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_stale_number, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_abandoned, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_many_abandoned, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_too_deep, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_other_thread, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_other_thread_later, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_many_elsewhere, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_late_word, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_other_thread_full, set_up_tasks, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up_tasks, tear_down),
	};

	return cmocka_run_group_tests_name("agent/overlap", tests, NULL, NULL);
}
