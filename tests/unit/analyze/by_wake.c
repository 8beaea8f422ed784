// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that each wake and each spawn is counted under who did it, and the wait that follows with
 * it. */
#include "unit.h"

#include "script.h"

#include "analyze/by_wake.h"

static const struct trace_thread threads[] = {
	{ 100, "worker" }, { 101, "pool" }, { 102, "pool" }, { 103, "" }
};

static struct recording rec = {
	.types = script_types, .nr_types = NR_TYPES, .threads = threads, .nr_threads = 4
};

static const struct by_wake_row *find(const struct by_wake *b, bool is_spawn,
				      enum model_cause cause, uint32_t waker, uint16_t woken)
{
	size_t nr;
	const struct by_wake_row *rows = by_wake_get_rows(b, &nr), *found = NULL;

	for (size_t i = 0; i < nr; i++)
		if (rows[i].is_spawn == is_spawn && rows[i].cause == cause &&
		    rows[i].waker == waker && rows[i].woken == recording_group_of(&rec, woken)) {
			assert_null(found); /* a pair is one row */
			found = &rows[i];
		}
	return found;
}

static struct by_wake *play_wakes(const struct event *evs, size_t nr)
{
	struct by_wake *b = by_wake_new(&rec);
	struct model *m = model_new(rec.types, rec.nr_types);

	model_add_sink(m, &by_wake_ops, b);
	model_feed(m, evs, nr);
	model_finish(m, 100000, NULL);
	model_free(m);
	return b;
}

static void assert_row(const struct by_wake_row *row, uint64_t nr, uint64_t polls, uint64_t sum)
{
	assert_non_null(row);
	assert_int_equal(row->nr, nr);
	assert_int_equal(row->latency.nr, polls);
	assert_int_equal(row->latency.sum, sum);
}

static void test_wakes(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0), /* thread 0 is a worker */
		POLL(10, 0, 1),
		END(20, 0, 0),
		START(21, 0, 2, LOCAL, 0),
		WAKE(25, 0, 1, 0), /* by task 2 */
		END(30, 0, 0),
		POLL(40, 0, 1), /* 15 later */
		END(50, 0, 0),
		WAKE(60, 1, 1, 0), /* by a thread of the pool */
		POLL(70, 0, 1),	   /* 10 later */
		END(80, 0, 0),
		WAKE(90, 2, 1, 0), /* by another one of that name */
		POLL(93, 0, 1),	   /* 3 later */
		END(95, 0, 0),
		WAKE(100, 0, 1, 0), /* by the worker's own loop */
		POLL(104, 0, 1),    /* 4 later */
		END(110, 0, EF_END_NOTIFIED),
		POLL(115, 0, 1), /* woken by itself, 5 before */
		END(120, 0, 0),
		WAKE(130, 1, 1, EF_WAKE_ABORT),
		START(140, 0, 1, ASYNC, EF_RUN_DROP), /* no poll: no latency */
		END(150, 0, CANCELLED),
		WAKE_TYPE(160, 3, 2, LOCAL, 0), /* never polled again */
	};
	struct by_wake *b = play_wakes(evs, ARRAY_SIZE(evs));
	size_t nr;

	assert_row(find(b, false, MODEL_BY_TASK, recording_group_of(&rec, LOCAL), ASYNC), 1, 1, 15);
	assert_row(find(b, false, MODEL_BY_THREAD, 1, ASYNC), 2, 2, 13);
	assert_row(find(b, false, MODEL_BY_WORKER, 0, ASYNC), 1, 1, 4);
	assert_row(find(b, false, MODEL_BY_SELF, 0, ASYNC), 1, 1, 5);
	assert_row(find(b, false, MODEL_BY_ABORT, 0, ASYNC), 1, 0, 0);
	assert_row(find(b, false, MODEL_BY_THREAD, 3, LOCAL), 1, 0, 0);
	by_wake_get_rows(b, &nr);
	assert_int_equal(nr, 6); /* no spawn was seen */
	by_wake_free(b);
	by_wake_free(NULL);
}

static void test_spawns(void **state)
{
	static const struct event evs[] = {
		SPAWN(5, 2, 0x1000),  /* task 1, by a thread of the pool */
		POLL(12, 0, 1),	      /* 7 later */
		SPAWN(14, 0, 0x2000), /* tasks 2 and 3, by task 1 */
		SPAWN(15, 0, 0x3000),
		END(20, 0, 0),
		START(24, 0, 2, LOCAL, 0), /* 10 later */
		END(26, 0, COMPLETE),
		START(27, 0, 3, LOCAL, EF_RUN_DROP), /* never polled */
		END(28, 0, CANCELLED),
		POLL(30, 0, 4), /* its spawn was not seen */
		END(31, 0, COMPLETE),
		SPAWN(40, 9, 0x5000), /* task 5, by a thread that the file does not name */
		POLL(45, 0, 5),
		END(46, 0, COMPLETE),
	};
	struct by_wake *b = play_wakes(evs, ARRAY_SIZE(evs));

	assert_row(find(b, true, MODEL_BY_THREAD, 1, ASYNC), 1, 1, 7);
	assert_row(find(b, true, MODEL_BY_TASK, recording_group_of(&rec, ASYNC), LOCAL), 2, 1, 10);
	assert_row(find(b, true, MODEL_BY_THREAD, MODEL_NO_THREAD, ASYNC), 1, 1, 5);
	by_wake_free(b);
}

static int setup(void **state)
{
	recording_make_groups(&rec);
	return 0;
}

static int teardown(void **state)
{
	free(rec.groups);
	free(rec.group_of_type);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wakes),
		cmocka_unit_test(test_spawns),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
