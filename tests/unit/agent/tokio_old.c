// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks of Tokio before 1.23 in the agent's core: found wherever their header has the pointer to
 * the table, named by their address, woken by wakers and aborts that may come too late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/fast.h"
#include "world.h"

#define TYPE 7
#define IDLE (2 * TOKIO_REF | TOKIO_JOIN_INTEREST)

static uint64_t old_table[6], new_table[10], other_task[8];

static void fake_abort(uint64_t header)
{
}

static int set_up(void **state)
{
	world_init();
	*core_table_find((uint64_t)old_table | CORE_OLD, true) =
		(struct core_table){ .abort = (uint64_t)fake_abort,
				     .type_word = EVENT_WORD1(0, TYPE),
				     .addr = (uint64_t)old_table | CORE_OLD };
	*core_table_find((uint64_t)new_table, true) =
		(struct core_table){ .id_off = 40, .addr = (uint64_t)new_table };
	core_bar_zero();
	return 0;
}

/* The words of the latest event of n words. */
static const uint64_t *latest(unsigned n)
{
	return (uint64_t *)(mine->bias + (mine->head - n) * 8);
}

static unsigned flags_of(const uint64_t *event)
{
	return event[0] >> EVENT_KIND_BITS & 31;
}

/* Wherever the pointer is, and whether the place of later releases holds nothing or another task.
 */
static void test_run(void **state)
{
	static const uint8_t words[] = { 2, 4, 5 };

	for (unsigned i = 0; i < 2 * sizeof(words); i++) {
		uint64_t task[8] = { IDLE | TOKIO_NOTIFIED };
		struct core_entry entry;

		task[2] = i % 2 ? (uint64_t)other_task : 0;
		task[words[i / 2]] = (uint64_t)old_table;
		entry = core_enter((uint64_t)task, CORE_POLL, mine);
		assert_int_equal(entry.table->addr, (uint64_t)old_table | CORE_OLD);
		assert_int_equal(latest(3)[0] & 31, EV_RUN_START);
		assert_int_equal(latest(3)[1], (uint64_t)task | EVENT_WORD1(0, TYPE));
		assert_int_equal(latest(3)[2], (uint64_t)task);
		task[0] |= TOKIO_COMPLETE;
		assert_false(core_leave(&entry, mine));
		assert_int_equal(latest(1)[0] & 31, EV_RUN_END);
		assert_true(flags_of(latest(1)) & EF_END_COMPLETE);
	}
}

/* A table of a later release beside it is found as ever, and its tasks have ids. */
static void test_both(void **state)
{
	uint64_t task[8] = { IDLE, 0, (uint64_t)new_table, 0, 0, 42 };
	struct core_entry entry;

	core_awake(core_sleep(0));
	entry = core_enter((uint64_t)task, CORE_POLL, mine);
	assert_int_equal(entry.table->addr, (uint64_t)new_table);
	assert_int_equal(latest(3)[1], 42);
	core_leave(&entry, mine);
}

/* Only what may make a task runnable, or wakes one that runs elsewhere, is told. */
static void test_wake(void **state)
{
	uint64_t task[8] = { IDLE, 0, 0, 0, (uint64_t)old_table }, head;
	struct core_entry entry;

	core_wake_tried((uint64_t)task);
	assert_int_equal(latest(2)[0] & 31, EV_WAKE);
	assert_int_equal(flags_of(latest(2)), EF_WAKE_TRIED);
	assert_int_equal(latest(2)[1], (uint64_t)task | EVENT_WORD1(0, TYPE));
	task[0] |= TOKIO_RUNNING;
	core_wake_tried((uint64_t)task);
	assert_int_equal(flags_of(latest(2)), EF_WAKE_TRIED | EF_WAKE_RUNNING);

	head = mine->head;
	task[0] = IDLE | TOKIO_NOTIFIED;
	core_wake_tried((uint64_t)task);
	task[0] = IDLE | TOKIO_COMPLETE;
	core_wake_tried((uint64_t)task);
	assert_int_equal(mine->head, head);

	task[0] = IDLE | TOKIO_RUNNING;
	entry = core_enter((uint64_t)task, CORE_POLL, mine);
	head = mine->head;
	core_wake_tried((uint64_t)task); /* itself: shows by its next run */
	assert_int_equal(mine->head, head);
	core_leave(&entry, mine);
}

static void test_abort(void **state)
{
	uint64_t task[8] = { IDLE, 0, 0, 0, 0, (uint64_t)old_table }, head;

	assert_int_equal(core_abort_tried((uint64_t)task), (uint64_t)fake_abort);
	assert_int_equal(flags_of(latest(2)), EF_WAKE_TRIED | EF_WAKE_ABORT);
	head = mine->head;
	task[0] |= TOKIO_NOTIFIED;
	assert_int_equal(core_abort_tried((uint64_t)task), (uint64_t)fake_abort);
	task[0] = IDLE | TOKIO_RUNNING;
	assert_int_equal(core_abort_tried((uint64_t)task), (uint64_t)fake_abort);
	assert_int_equal(mine->head, head);
}

/* Where nothing is recorded, as in a forked child, calls still go on to where they belong. */
static void test_off(void **state)
{
	uint64_t task[8] = { IDLE, 0, 0, 0, 0, (uint64_t)old_table };
	struct core_entry entry;

	core_page.threads = core_page.fast_threads = NULL;
	core_wake_tried((uint64_t)task);
	assert_int_equal(core_abort_tried((uint64_t)task), (uint64_t)fake_abort);
	entry = core_enter((uint64_t)task, CORE_SHUTDOWN, NULL);
	assert_int_equal(entry.table->addr, (uint64_t)old_table | CORE_OLD);
	assert_false(core_leave(&entry, NULL));
	assert_int_equal(task[0], IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_both, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abort, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
