// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The rings of the agent: what happens when one is full, when it grows, when runs nest deeply, and
 * when the tool stops or is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "fake_tokio.h"

static int set_up_large(void **state)
{
	world_init_rings(1, 64 * RING_WORDS);
	return hook_fake_table();
}

/* Takes what is in the ring; told: what it says to be lost, by kind. */
static void count_all(struct wire_thread *t, unsigned nr[EV_MAX], unsigned told[EV_MAX])
{
	uint64_t w[5];
	unsigned kind;

	while ((kind = take_event(t, w))) {
		nr[kind]++;
		if (kind == EV_LOST)
			told[w[1]] += w[2];
	}
}

/* However full the ring: a run is there whole or not at all, and recorded + lost is what happened.
 */
static void test_full_ring(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 9 };
	struct wire_thread *t = my_slot();
	unsigned nr[EV_MAX] = { 0 }, told[EV_MAX] = { 0 };
	const unsigned total = 1009;

	skip_all(t);
	for (unsigned i = 0; i < total; i++) {
		struct core_entry run;

		enter(&run, &task);
		core_schedule((uint64_t)&task, mine);
		leave(&run);
		if (i % 203 == 0)
			count_all(t, nr, told);
	}
	count_all(t, nr, told);
	assert_true(t->lost[EV_RUN_START] > 0);
	assert_int_equal(nr[EV_RUN_START] + t->lost[EV_RUN_START], total);
	assert_int_equal(nr[EV_RUN_END] + t->lost[EV_RUN_END], total);
	assert_int_equal(nr[EV_RUN_START], nr[EV_RUN_END]);
	assert_int_equal(nr[EV_WAKE] + t->lost[EV_WAKE], total);
	for (unsigned kind = 1; kind < EV_MAX; kind++)
		assert_int_equal(told[kind] + t->pending_lost[kind], t->lost[kind]);
}

/* Where memory is short a ring does not grow: no more is touched than may be, the segments that are
 * there go on being used, and recorded + lost is what happened. */
static void test_little_memory(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 9 };
	struct wire_thread *t = my_slot();
	unsigned nr[EV_MAX] = { 0 }, told[EV_MAX] = { 0 };
	const unsigned total = 10007;
	uint64_t used = lobby.rings.used, bytes = t->segment_words * 8;

	assert_int_equal(used, __builtin_popcountll(t->touched[0]) * bytes);
	lobby.rings.limit = used + 2 * bytes;
	skip_all(t);
	for (unsigned i = 0; i < total; i++) {
		struct core_entry run;

		enter(&run, &task);
		leave(&run);
		if (i % 509 == 0)
			count_all(t, nr, told);
		assert_true(lobby.rings.used <= lobby.rings.limit);
	}
	count_all(t, nr, told);
	assert_int_equal(lobby.rings.used, lobby.rings.limit);
	assert_int_equal(__builtin_popcountll(t->touched[0]), 2 + used / bytes);
	assert_int_equal(region->big_used, 0);
	assert_true(t->lost[EV_RUN_START] > 0 && nr[EV_RUN_START] > total / 509);
	assert_int_equal(nr[EV_RUN_START] + t->lost[EV_RUN_START], total);
	assert_int_equal(nr[EV_RUN_END], nr[EV_RUN_START]);
}

static void *begins_late(void *arg)
{
	struct wire_thread *t = my_slot();

	assert_true(t->limit > 0);
	assert_int_equal(t->lost[EV_THREAD_START], 0);
	return NULL;
}

/* A thread that begins when the budget is spent has its first segment all the same: without one it
 * could never record again. */
static void test_no_memory_for_thread(void **state)
{
	struct wire_thread *t = my_slot();
	pthread_t thread;

	lobby.rings.limit = lobby.rings.used;
	pthread_create(&thread, NULL, begins_late, NULL);
	pthread_join(thread, NULL);
	mine = t;
}

/* The end of a poll that is in no table, with no other open, changes nothing but the counts. */
static void test_unknown_end(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table };
	struct wire_thread *t = my_slot();
	struct core_entry run = { .table = core_table_find((uint64_t)fake_table, false),
				  .slot = t,
				  .header = (uint64_t)&task };
	uint64_t top = t->top, head = t->head;

	for (unsigned i = 0; i < 3; i++) {
		leave(&run);
		assert_int_equal(t->top, top);
		assert_int_equal(t->head, head);
		assert_int_equal(t->lost[EV_RUN_END], i + 1);
	}
}

static unsigned nr_starts(struct wire_thread *t, unsigned first)
{
	unsigned nr = 0, kind;
	uint64_t w[5];

	while ((kind = take_event(t, w)))
		if (kind == EV_RUN_START)
			assert_int_equal(w[1] & EVENT_ID_MASK, first + nr++);
	return nr;
}

static void run_all(unsigned first, unsigned nr)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table };

	for (unsigned i = 0; i < nr; i++) {
		struct core_entry run;

		task.id = first + i;
		enter(&run, &task);
		leave(&run);
	}
}

static void *finds_none_left(void *arg)
{
	struct wire_thread *t = my_slot();

	run_all(1, 1000);
	assert_int_equal(t->big, 0);
	assert_true(t->lost[EV_RUN_START] > 0);
	return NULL;
}

/* Only a thread whose ring is full takes a large one, and all that it did is in the one or the
 * other, in order. */
static void test_growing(void **state)
{
	struct wire_thread *t = my_slot();
	pthread_t thread;

	run_all(1, 20);
	assert_int_equal(region->big_used, 0);
	assert_int_equal(nr_starts(t, 1), 20);
	run_all(21, 5000);
	assert_int_equal(region->big_used, 1);
	assert_int_equal(t->lost[EV_RUN_START], 0);
	pthread_create(&thread, NULL, finds_none_left, NULL);
	pthread_join(thread, NULL);
	mine = t;
	assert_int_equal(nr_starts(t, 21), 5000);
	/* and round the large one more than once */
	for (unsigned i = 0; i < 30; i++) {
		run_all(1 + i * 1000, 1000);
		assert_int_equal(nr_starts(t, 1 + i * 1000), 1000);
	}
	assert_int_equal(t->lost[EV_RUN_START], 0);
}

static void nest(unsigned depth)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = depth };
	struct core_entry outer = core_enter((uint64_t)&task, CORE_POLL, mine);

	if (depth > 1)
		nest(depth - 1);
	core_leave(&outer, mine);
}

/* Ends of so many runs have no room in a segment of the small ring. */
static void test_deep(void **state)
{
	struct wire_thread *t = my_slot();

	nest(2 * SEGMENT_WORDS);
	assert_int_equal(t->lost[EV_RUN_START], 0);
	assert_int_equal(t->big, 1);
}

/* The ring is full, and the tool is stuck: what is lost is counted, until it goes on. Then the tool
 * is gone: the agent switches itself off. */
static void test_tool_gone(void **state)
{
	struct wire_thread *t = my_slot();

	for (unsigned i = 0; i < RING_WORDS; i++)
		core_awake(t);
	assert_true(t->lost[EV_AWAKE] > 0);
	assert_non_null(core_page.threads);
	lobby.life = WIRE_TOOL_GONE;
	core_awake(t);
	lobby.life = 0;
	assert_null(core_sleep(0));
	assert_null(core_page.threads);
}

/* What happens after the tool said stop is not recorded, and not lost either. */
static void test_stopped(void **state)
{
	struct wire_thread *t = my_slot();

	skip_all(t);
	run_all(1, 20);
	region->state = WIRE_REGION_STOP;
	run_all(21, RING_WORDS);
	assert_null(core_page.threads);
	assert_in_range(nr_starts(t, 1), 20, 20 + SEGMENT_WORDS);
	for (unsigned kind = 0; kind < EV_MAX; kind++)
		assert_int_equal(t->lost[kind], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_full_ring, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_little_memory, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_no_memory_for_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_growing, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_deep, set_up_large, tear_down),
		cmocka_unit_test_setup_teardown(test_tool_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
