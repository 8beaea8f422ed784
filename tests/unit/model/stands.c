// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A task that still waits at the end stands where it was seen, unless it has begun to run since or
 * that is not certain.
 */
#include "unit.h"

#include "script.h"

#define END_NS 1000

static const uint32_t steps[] = { 0 };
static const struct trace_path paths[] = { { NULL, 0 }, { steps, 1 }, { NULL, 0 }, { steps, 1 } };

static const uint64_t one_lost[EV_MAX] = { [EV_RUN_START] = 1 };

static void play_stands(struct told *told, uint64_t start_ns, const struct event *evs, size_t nr,
			const struct trace_stand *stands, uint32_t nr_stands, const uint64_t *lost)
{
	struct model *m = model_new(script_types, NR_TYPES);

	*told = (struct told){ 0 };
	model_set_paths(m, paths, ARRAY_SIZE(paths));
	model_set_stands(m, stands, nr_stands);
	model_set_start(m, start_ns);
	model_add_sink(m, &told_ops, told);
	model_feed(m, evs, nr);
	model_finish(m, END_NS, lost);
	model_free(m);
}

#define PLAY_STANDS(told, evs, stands, lost) \
	play_stands(told, 0, evs, ARRAY_SIZE(evs), stands, ARRAY_SIZE(stands), lost)

/* Waiting, runnable, run since, running, over, never run, of another type, at no known path. */
static void test_which(void **state)
{
	static const struct event evs[] = {
		POLL(1, 0, 1),	   END(2, 0, 0),   POLL(3, 0, 2),   END(4, 0, 0),
		POLL(5, 0, 3),	   END(6, 0, 0),   POLL(7, 0, 5),   END(8, 0, COMPLETE),
		POLL(9, 0, 7),	   END(10, 0, 0),  POLL(11, 0, 8),  END(12, 0, 0),
		WAKE(13, 0, 6, 0), POLL(14, 0, 9), END(200, 0, 0),  WAKE(210, 0, 2, 0),
		POLL(300, 0, 3),   END(301, 0, 0), POLL(400, 0, 4),
	};
	static const struct trace_stand stands[] = {
		{ 1, 100, 1, ASYNC },  { 2, 100, 3, ASYNC }, { 3, 100, 1, ASYNC },
		{ 4, 100, 1, ASYNC },  { 5, 100, 1, ASYNC }, { 6, 100, 1, ASYNC },
		{ 7, 100, 1, LOCAL },  { 8, 100, 2, ASYNC }, { 9, 100, 3, ASYNC },
		{ 77, 100, 1, ASYNC }, { 1, 100, 9, ASYNC }, { 1, 100, 1, 999 },
	};
	static const uint32_t want[] = { 0, 1, 3, 0, 0, 0, 0, 0, 0, 3 };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	for (uint64_t id = 1; id < ARRAY_SIZE(want); id++)
		assert_int_equal(told_find(&told, id)->last_path,
				 want[id] ? want[id] : MODEL_NO_PATH);
	assert_null(told_find(&told, 77));
	told_release(&told);
}

/* At the very moment of a run's start nobody knows which came first. */
static void test_when(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, 0), POLL(30, 0, 2),
					    END(40, 0, 0) };
	static const struct trace_stand stands[] = { { 1, 10, 1, ASYNC }, { 2, 31, 1, ASYNC } };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	assert_int_equal(told_find(&told, 2)->last_path, 1);
	told_release(&told);
}

/* A run that found it complete, and a shutdown that found it running, are runs as well. */
static void test_idle_runs(void **state)
{
	static const struct event evs[] = {
		POLL(10, 0, 1),
		END(20, 0, 0),
		POLL(30, 0, 2),
		END(40, 0, 0),
		POLL(50, 0, 3),
		SHUTDOWN(60, 1, 3),
		END(70, 1, 0),
		END(80, 0, 0),
		START(110, 0, 1, ASYNC, EF_RUN_FINISHED),
		END(120, 0, 0),
		START(130, 0, 2, ASYNC, EF_RUN_FINISHED),
		END(140, 0, 0),
	};
	static const struct trace_stand stands[] = { { 1, 100, 1, ASYNC },
						     { 2, 150, 1, ASYNC },
						     { 3, 55, 1, ASYNC } };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	assert_int_equal(told_find(&told, 2)->last_path, 1);
	assert_int_equal(told_find(&told, 3)->last_path, MODEL_NO_PATH);
	told_release(&told);
}

/* Where runs were lost, it may have been one of this task. */
static void test_lost(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, 0),
					    LOST(50, 0, RUN_START, 1), POLL(60, 0, 2),
					    END(70, 0, 0) };
	static const struct trace_stand stands[] = { { 1, 100, 1, ASYNC }, { 2, 100, 1, ASYNC } };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	assert_int_equal(told_find(&told, 2)->last_path, 1);
	told_release(&told);
	PLAY_STANDS(&told, evs, stands, one_lost);
	assert_int_equal(told_find(&told, 2)->last_path, 1); /* that one was told */
	told_release(&told);
	play_stands(&told, 0, evs, 2, stands, 1, one_lost);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	told_release(&told);
}

/* Nor does a wake after that tell: it may have run again, and wait elsewhere. */
static void test_lost_before_wake(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1),
					    END(20, 0, 0),
					    POLL(30, 0, 2),
					    END(40, 0, 0),
					    LOST(50, 0, RUN_START, 1),
					    WAKE(60, 0, 1, 0),
					    WAKE(70, 0, 2, 0),
					    POLL(80, 0, 2),
					    END(90, 0, 0),
					    WAKE(100, 0, 2, 0) };
	static const struct trace_stand stands[] = { { 1, 45, 1, ASYNC }, { 2, 95, 1, ASYNC } };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	assert_int_equal(told_find(&told, 2)->last_path, 1);
	told_release(&told);
}

/* Somebody wants to know of the last part only, which begins after the tasks were looked at. */
static void test_range(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, 0), POLL(30, 0, 2),
					    END(40, 0, 0), POLL(60, 0, 3) };
	static const struct trace_stand stands[] = { { 1, 25, 1, ASYNC }, { 2, 25, 1, ASYNC } };
	struct told told;

	play_stands(&told, 50, evs, ARRAY_SIZE(evs), stands, ARRAY_SIZE(stands), NULL);
	assert_int_equal(told_find(&told, 1)->last_path, 1);
	assert_int_equal(told_find(&told, 2)->last_path, MODEL_NO_PATH);
	told_release(&told);
}

/* Without ids it is who lives there now. */
static void test_by_addr(void **state)
{
	static const struct event evs[] = {
		START_AT(10, 0, 0x5000, ASYNC, 0x5000, 0), END(20, 0, COMPLETE),
		START_AT(30, 0, 0x5000, ASYNC, 0x5000, 0), END(40, 0, 0),
		START_AT(50, 0, 0x6000, ASYNC, 0x6000, 0), END(60, 0, COMPLETE),
	};
	static const struct trace_stand stands[] = { { 0x5000, 100, 1, ASYNC },
						     { 0x6000, 100, 1, ASYNC } };
	static const struct trace_stand early[] = { { 0x5000, 25, 1, ASYNC } };
	struct told told;

	PLAY_STANDS(&told, evs, stands, NULL);
	assert_int_equal(told_find(&told, 1)->last_path, MODEL_NO_PATH);
	assert_int_equal(told_find(&told, 2)->last_path, 1);
	assert_int_equal(told_find(&told, 3)->last_path, MODEL_NO_PATH);
	told_release(&told);
	PLAY_STANDS(&told, evs, early, NULL);
	assert_int_equal(told_find(&told, 2)->last_path, MODEL_NO_PATH);
	told_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_when),
		cmocka_unit_test(test_idle_runs),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_before_wake),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_by_addr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
