// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves what the model says of threads: their kind, being busy, asleep or blocked inside a run. */
#include "unit.h"

#include "script.h"

static const struct model_thread *thread(struct told *told, uint32_t index)
{
	vec_each (t, &told->threads)
		if (t->thread == index)
			return t;
	return NULL;
}

/* Asleep in a worker's main loop is asleep; asleep in a task is that task's blocking, and busy
 * time. */
static void test_asleep_and_blocked(void **state)
{
	struct told told;
	const struct model_thread *thr;
	const struct model_task *t;

	PLAY(&told, 1000, EV(0, 0, THREAD_START), START(10, 0, 90, LAUNCH, 0), EV(20, 0, SLEEP),
	     EV(50, 0, AWAKE), POLL(60, 0, 1), EV(62, 0, SLEEP), EV(65, 0, AWAKE), EV(66, 0, SLEEP),
	     EV(68, 0, AWAKE), END(70, 0, 0), EV(80, 0, SLEEP));
	thr = thread(&told, 0);
	assert_int_equal(thr->kind, MODEL_WORKER);
	assert_int_equal(thr->asleep_ns, 30 + 920);
	assert_int_equal(thr->sleeps, 2);
	assert_int_equal(thr->busy_ns, 10);
	assert_int_equal(thr->polls, 1);
	assert_int_equal(thr->blocked_ns, 5);
	assert_int_equal(thr->nr_blocks, 2);
	assert_int_equal(thr->runtime, 0);
	assert_true(thr->is_launched);
	t = told_find(&told, 1);
	assert_int_equal(t->blocked_ns, 5);
	assert_int_equal(t->max_blocked_ns, 3);
	assert_int_equal(told.runs.nr, 1);
	assert_int_equal(told.runs.v[0].blocked_ns, 5);
	told_release(&told);
}

/* Without names, a blocking closure that tasks run inside is a worker, and so are its like that had
 * none. */
static void test_stripped_launch(void **state)
{
	struct told told;

	PLAY(&told, 1000, START(1, 0, 90, STRIPPED, 0), START(2, 1, 91, STRIPPED, 0),
	     EV(3, 0, SLEEP), EV(3, 1, SLEEP), EV(10, 0, AWAKE), EV(10, 1, AWAKE),
	     START(20, 0, 1, STRIPPED_TASK, 0), SPAWN(22, 0, 0x2000), END(30, 0, COMPLETE),
	     END(40, 0, COMPLETE), END(41, 1, COMPLETE));
	assert_int_equal(told.tasks.nr, 1);
	assert_int_equal(told.tasks.v[0].key.id, 1);
	assert_int_equal(thread(&told, 0)->kind, MODEL_WORKER);
	assert_true(thread(&told, 0)->is_launched);
	assert_int_equal(thread(&told, 0)->asleep_ns, 7);
	assert_int_equal(thread(&told, 0)->busy_ns, 10);
	assert_int_equal(thread(&told, 1)->kind, MODEL_WORKER);
	assert_true(thread(&told, 1)->is_launched);
	assert_int_equal(thread(&told, 1)->asleep_ns, 7);
	assert_int_equal(thread(&told, 1)->busy_ns, 0);
	told_release(&told);
	/* one that was over before has told of a closure; dropping one says nothing */
	PLAY(&told, 1000, START(1, 1, 91, STRIPPED, 0), END(2, 1, COMPLETE),
	     START(3, 0, 90, STRIPPED, 0), START(4, 0, 1, STRIPPED_TASK, 0), END(5, 0, COMPLETE),
	     START(6, 2, 92, STRIPPED, EF_RUN_SHUTDOWN), END(7, 2, COMPLETE));
	assert_int_equal(thread(&told, 0)->kind, MODEL_WORKER); /* open at the end */
	assert_int_equal(thread(&told, 1)->kind, MODEL_BLOCKING);
	assert_int_equal(thread(&told, 2)->kind, MODEL_OTHER);
	told_release(&told);
}

static unsigned places(const struct event *evs, size_t nr, uint16_t type)
{
	struct model *m = model_new(script_types, NR_TYPES);
	unsigned places;

	model_feed(m, evs, nr);
	places = model_type_get_places(m, type);
	model_free(m);
	return places;
}

/* Tasks run in a worker's main loop, known or unmasked by them, or outside; dropping them says
 * nothing. */
static void test_places(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 90, LAUNCH, 0),
		START(2, 0, 1, ASYNC, 0),
		START(3, 0, 2, STRIPPED_TASK, 0), /* a runtime inside a task */
		END(4, 0, 0),
		END(5, 0, COMPLETE),
		START(6, 0, 3, OTHER_COPY, 0), /* not its worker */
		SHUTDOWN(7, 1, 4),
		END(8, 1, COMPLETE),
		START(9, 2, 91, STRIPPED, 0),
		START(10, 2, 5, STRIPPED_TASK, 0),
	};

	assert_int_equal(places(evs, 1, ASYNC), 0);
	assert_int_equal(places(evs, ARRAY_SIZE(evs), ASYNC), MODEL_IN_WORKER);
	assert_int_equal(places(evs, 4, STRIPPED_TASK), MODEL_OUTSIDE);
	assert_int_equal(places(evs, ARRAY_SIZE(evs), STRIPPED_TASK),
			 MODEL_IN_WORKER | MODEL_OUTSIDE);
	assert_int_equal(places(evs, ARRAY_SIZE(evs), OTHER_COPY), MODEL_OUTSIDE);
	assert_int_equal(places(evs, ARRAY_SIZE(evs), EVENT_TYPE_NONE), 0);
}

/* A closure with a name that runs a runtime of its own stays a task; busy time counts once. */
static void test_nested_runtime(void **state)
{
	struct told told;

	PLAY(&told, 1000, START(10, 0, 1, BLOCKING, 0), START(20, 0, 2, LOCAL, 0),
	     END(30, 0, COMPLETE), END(40, 0, COMPLETE), POLL(50, 1, 3), END(60, 1, COMPLETE),
	     EV(70, 2, SLEEP), EV(75, 2, AWAKE), START(80, 2, 4, ASYNC, EF_RUN_SHUTDOWN),
	     END(81, 2, COMPLETE));
	assert_int_equal(told.tasks.nr, 4);
	assert_int_equal(told_find(&told, 1)->kind, TRACE_BLOCKING);
	assert_int_equal(told_find(&told, 1)->ns[MODEL_RUNNING], 30);
	assert_int_equal(thread(&told, 0)->kind, MODEL_BLOCKING);
	assert_int_equal(thread(&told, 0)->busy_ns, 30);
	assert_int_equal(thread(&told, 0)->polls, 2);
	assert_int_equal(thread(&told, 1)->kind, MODEL_WORKER);
	assert_false(thread(&told, 1)->is_launched);
	/* a runtime was dropped there, which makes no worker of it */
	assert_int_equal(thread(&told, 2)->kind, MODEL_OTHER);
	assert_int_equal(thread(&told, 2)->asleep_ns, 5);
	told_release(&told);
}

/* A main loop that is made inside a poll and begins before that is over has taken its worker over;
 * one that begins later, even in another poll of the task, or was made elsewhere, has not. */
static void test_off_worker(void **state)
{
	struct told told;

	PLAY(&told, 1000, START(1, 0, 90, LAUNCH, 0), POLL(10, 0, 1), SPAWN(11, 0, 0x5b000),
	     EV(12, 0, SLEEP), START(20, 1, 91, LAUNCH, 0), EV(50, 0, AWAKE), END(60, 0, 0),
	     POLL(70, 1, 1), SPAWN(71, 1, 0x5c000), END(80, 1, 0), START(81, 2, 92, LAUNCH, 0),
	     SPAWN(90, 3, 0x5d000), POLL(91, 1, 1), START(92, 3, 93, LAUNCH, 0),
	     SPAWN(94, 1, 0x5e000), END(99, 1, 0), POLL(100, 1, 1), START(110, 2, 94, LAUNCH, 0),
	     END(120, 1, COMPLETE));
	assert_int_equal(told.runs.nr, 4);
	assert_true(told.runs.v[0].is_off_worker);
	assert_int_equal(told.runs.v[0].blocked_ns, 38);
	assert_false(told.runs.v[1].is_off_worker);
	assert_false(told.runs.v[2].is_off_worker);
	assert_false(told.runs.v[3].is_off_worker);
	told_release(&told);
}

/* Ends without a start, threads that die inside a run, holes in the file: counted, nothing breaks.
 */
static void test_broken_streams(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 100, END(1, 0, COMPLETE), EV(2, 0, AWAKE), POLL(10, 0, 1),
	     EV(20, 0, THREAD_STOP), POLL(30, 1, 2), LOST(35, 1, MAX, 1),
	     { .time = 40, .thread = 1, .kind = EV_LOST, .a = 0, .b = 5 }, END(50, 1, COMPLETE),
	     { .time = 60, .thread = UINT32_MAX, .kind = EV_SLEEP }, POLL(20, 0, 3));
	assert_int_equal(told.totals.nr_stray, 6);
	t = told_find(&told, 1);
	assert_int_equal(t->ns[MODEL_RUNNING], 10);
	assert_int_equal(t->ns[MODEL_UNKNOWN], 80);
	t = told_find(&told, 2);
	assert_int_equal(t->ns[MODEL_RUNNING], 10);
	assert_int_equal(t->ns[MODEL_UNKNOWN], 60);
	assert_int_equal(t->end, MODEL_ALIVE);
	/* time ran backwards */
	assert_int_equal(told_find(&told, 3)->spawn_ns, 50);
	told_release(&told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asleep_and_blocked),
		cmocka_unit_test(test_stripped_launch),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_nested_runtime),
		cmocka_unit_test(test_off_worker),
		cmocka_unit_test(test_broken_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
