// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a thread has the polls that ran on it, and no others. */
#include "unit.h"

#include "script.h"

#include "analyze/by_thread.h"

static void test_rows(void **state)
{
	static const struct event evs[] = {
		START(5, 2, 9, LAUNCH, 0), /* makes its thread a worker */
		POLL(10, 2, 1),
		END(30, 2, 0),
		POLL(40, 0, 1), /* the same task elsewhere */
		END(41, 0, 0),
		POLL(50, 2, 2),
		EV(52, 2, SLEEP),
		EV(55, 2, AWAKE),
		END(60, 2, 0),
		START(70, 2, 2, ASYNC, EF_RUN_DROP), /* busy, but no poll */
		END(80, 2, CANCELLED),
		EV(85, 2, SLEEP),
		EV(95, 2, AWAKE),
	};
	struct model *m = model_new(script_types, NR_TYPES);
	struct by_thread *b = by_thread_new();
	const struct by_thread_row *rows;
	size_t nr;

	model_add_sink(m, &by_thread_ops, b);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 100, NULL);
	rows = by_thread_get_rows(b, &nr);
	assert_int_equal(nr, 2); /* thread 1 had no event */
	assert_int_equal(rows[0].thread.thread, 0);
	assert_int_equal(rows[0].poll.nr, 1);
	assert_int_equal(rows[0].poll.sum, 1);
	assert_int_equal(rows[1].thread.thread, 2);
	assert_int_equal(rows[1].thread.kind, MODEL_WORKER);
	assert_int_equal(rows[1].poll.nr, rows[1].thread.polls);
	assert_int_equal(rows[1].poll.nr, 2);
	assert_int_equal(rows[1].poll.sum, 30);
	assert_int_equal(rows[1].poll.max, 20);
	assert_int_equal(rows[1].thread.busy_ns, 40);
	assert_int_equal(rows[1].thread.asleep_ns, 10);
	assert_int_equal(rows[1].thread.blocked_ns, 3);
	by_thread_free(b);
	by_thread_free(NULL);
	model_free(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
