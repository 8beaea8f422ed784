// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that machines, tasks and parents have the polls, blockades and times that are theirs, and
 * that memory does not grow with the number of parents. */
#include "unit.h"

#include "script.h"

#include "analyze/by_machine.h"

#define S	 UINT64_C(1000000000)
#define LIMIT_NS 100

static uint64_t by_blockades(void *arg, const struct by_machine_task *task)
{
	return task->nr_blockades;
}

static struct trace_thread threads[] = {
	{ .tid = 7, .name = "app" },	   { .tid = 8, .name = "exec-1" },
	{ .tid = 9, .name = "exec-2" },	   { .tid = 10, .name = "exec-13" },
	{ .tid = 11, .name = "app" },	   { .tid = 12, .name = "exec-" },
	{ .tid = 13, .name = "executor" }, { .tid = 14, .name = "rt-worker" },
	{ .tid = 15, .name = "rt-worker" }
};
static const struct trace_meta meta = { .pid = 7 };
static const struct recording rec = { .meta = &meta,
				      .threads = threads,
				      .nr_threads = ARRAY_SIZE(threads) };

static struct by_machine *make(uint64_t limit)
{
	return by_machine_new(&(struct by_machine_opts){
		.rec = &rec, .blockade_ns = LIMIT_NS, .limit = limit, .rank = by_blockades });
}

static struct by_machine *play_machines(const struct event *evs, size_t nr, uint64_t end,
					uint64_t limit)
{
	struct model *m = model_new(script_types, NR_TYPES);
	struct by_machine *b = make(limit);

	model_add_sink(m, &by_machine_ops, b);
	model_feed(m, evs, nr);
	model_finish(m, end, NULL);
	model_free(m);
	return b;
}

static const struct by_machine_row *row_of(struct by_machine *b, uint32_t thread)
{
	size_t nr;
	const struct by_machine_row *rows = by_machine_get_rows(b, &nr);

	for (size_t i = 0; i < nr; i++)
		if (rows[i].thread.thread == thread)
			return &rows[i];
	return NULL;
}

static const struct by_machine_task *task_of(struct by_machine *b, uint64_t id)
{
	size_t nr;
	const struct by_machine_task *tasks = by_machine_get_tasks(b, &nr);

	for (size_t i = 0; i < nr; i++)
		if (tasks[i].task.key.id == id)
			return &tasks[i];
	return NULL;
}

static const struct by_machine_parent *parent_of(struct by_machine *b, uint64_t id)
{
	size_t nr;
	const struct by_machine_parent *parents = by_machine_get_parents(b, &nr);

	for (size_t i = 0; i < nr; i++)
		if (parents[i].key.id == id)
			return &parents[i];
	return NULL;
}

static void test_all_parts(void **state)
{
	static const struct event evs[] = {
		SPAWN(S - 50, 0, 0x1000),
		POLL(S - 10, 1, 1),	  /* a blockade over the end of a second */
		SPAWN(S + 20, 1, 0x2000), /* by task 1 */
		SPAWN(S + 21, 1, 0x3000),
		END(S + 90, 1, 0),
		WAKE(S + 95, 1, 1, 0),
		POLL(S + 100, 2, 1), /* elsewhere */
		END(S + 199, 2, COMPLETE),
		POLL(2 * S, 2, 2), /* the parent is over */
		END(2 * S + 100, 2, 0),
		WAKE(3 * S, 2, 2, 0),
		POLL(3 * S, 2, 2),
		END(3 * S + 250, 2, COMPLETE),
		POLL(3 * S + 300, 2, 4), /* a ghost */
		END(3 * S + 301, 2, COMPLETE),
		POLL(4 * S, 1, 3), /* open */
		START(4 * S + 1, 5, 9, BLOCKING, 0),
		END(5 * S, 5, COMPLETE),
		START(5 * S, 1, 6, ASYNC, EF_RUN_DROP), /* no poll */
		END(6 * S, 1, CANCELLED),
	};
	struct by_machine *b = play_machines(evs, ARRAY_SIZE(evs), 7 * S, 0);
	size_t nr;

	assert_int_equal(row_of(b, 1)->nr_tasks, 2);
	assert_int_equal(row_of(b, 1)->polls, 2);
	assert_int_equal(row_of(b, 1)->nr_blockades, 2);
	assert_int_equal(row_of(b, 1)->nr_completed, 0);
	assert_int_equal(row_of(b, 2)->nr_tasks, 3);
	assert_int_equal(row_of(b, 2)->polls, 4);
	assert_int_equal(row_of(b, 2)->nr_blockades, 2);
	assert_int_equal(row_of(b, 2)->nr_completed, 3);
	assert_int_equal(row_of(b, 2)->nr_timed, 2); /* not of the ghost */
	assert_int_equal(row_of(b, 2)->timed_ns, 249 + 2 * S + 230);
	assert_null(row_of(b, 0));
	assert_null(row_of(b, 5));
	assert_int_equal(task_of(b, 1)->nr_blockades, 1);
	assert_int_equal(task_of(b, 2)->nr_blockades, 2);
	assert_int_equal(task_of(b, 3)->nr_blockades, 1);
	assert_int_equal(task_of(b, 4)->nr_blockades, 0);
	assert_null(task_of(b, 9));
	assert_int_equal(by_machine_get_nr_tasks(b), 5);
	assert_int_equal(by_machine_get_nr_ghosts(b), 2);
	by_machine_get_parents(b, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(by_machine_get_nr_parents(b), 1);
	assert_int_equal(parent_of(b, 1)->nr_children, 2);
	assert_int_equal(parent_of(b, 1)->nr_blocked, 2);
	by_machine_free(b);
	by_machine_free(NULL);
}

/* block_in_place hands the machine to another thread, whose main loop begins inside the poll. */
static void test_off_worker(void **state)
{
	static const struct event evs[] = {
		START(1, 7, 100, LAUNCH, 0),  POLL(10, 7, 1),	     SPAWN(20, 7, 0x1000 * 101),
		START(30, 8, 101, LAUNCH, 0), END(500, 7, COMPLETE), POLL(600, 8, 2),
		END(700, 8, COMPLETE),
	};
	struct by_machine *b = play_machines(evs, ARRAY_SIZE(evs), 1000, 0);

	assert_int_equal(row_of(b, 7)->nr_blockades, 0);
	assert_int_equal(row_of(b, 8)->nr_blockades, 1);
	assert_int_equal(task_of(b, 1)->nr_blockades, 0);
	assert_int_equal(by_machine_get_nr_idle(b), 0);
	by_machine_free(b);
}

/* Who never ran a task: launched workers, and threads named as a machine is that was not launched.
 */
static void test_never_running(void **state)
{
	static const struct event evs[] = {
		POLL(10, 1, 1),	  END(20, 1, COMPLETE), EV(30, 0, SLEEP),
		EV(30, 2, SLEEP), EV(30, 3, SLEEP),	EV(30, 4, SLEEP),
		EV(30, 5, SLEEP), EV(30, 6, SLEEP),	START(40, 7, 100, LAUNCH, 0),
		EV(50, 8, SLEEP), /* the blocking pool is named as workers are */
	};
	struct by_machine *b = play_machines(evs, ARRAY_SIZE(evs), 100, 0);
	size_t nr;

	by_machine_get_rows(b, &nr);
	assert_int_equal(nr, 5);
	assert_non_null(row_of(b, 2));
	assert_non_null(row_of(b, 3));
	assert_non_null(row_of(b, 5));
	assert_non_null(row_of(b, 7));
	assert_int_equal(by_machine_get_nr_idle(b), 4);
	by_machine_free(b);
}

/* As all unnamed threads are called what the program is, that name says nothing. */
static void test_unnamed(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, COMPLETE),
					    EV(30, 4, SLEEP) };
	struct by_machine *b = play_machines(evs, ARRAY_SIZE(evs), 100, 0);

	assert_int_equal(by_machine_get_nr_idle(b), 0);
	by_machine_free(b);
}

static void tell_poll(struct by_machine *b, const struct model_task *t, uint32_t thread)
{
	by_machine_ops.run(b, &(struct model_run){ .task = t, .end_ns = 1, .thread = thread });
}

/* A task counts once for each of hundreds of machines, and anew when its slot is another's. */
static void test_many_machines(void **state)
{
	struct by_machine *b = make(1);
	struct model_task tasks[] = { { .slot = 3, .nr = 0, .key.id = 1 },
				      { .slot = 3, .nr = 1, .key.id = 2 },
				      { .slot = 0, .nr = 2, .key.id = 3 } };

	for (unsigned i = 0; i < ARRAY_SIZE(tasks); i++) {
		by_machine_ops.spawn(b, &tasks[i]);
		for (unsigned n = 0; n < 2; n++)
			for (uint32_t thread = 0; thread < 300; thread++)
				if (thread % 3 != i)
					tell_poll(b, &tasks[i], thread);
		by_machine_ops.task(b, &tasks[i]);
	}
	for (uint32_t thread = 0; thread < 300; thread++)
		by_machine_ops.thread(b, &(struct model_thread){ .thread = thread });
	for (uint32_t thread = 0; thread < 300; thread++) {
		assert_int_equal(row_of(b, thread)->nr_tasks, 2);
		assert_int_equal(row_of(b, thread)->polls, 4);
	}
	by_machine_free(b);
}

static void tell_child(struct by_machine *b, uint64_t parent, uint64_t nr)
{
	struct model_task child = {
		.key.id = nr, .nr = nr, .has_parent = true, .spawn_exact = true, .parent.id = parent
	};

	by_machine_ops.spawn(b, &child);
	by_machine_ops.task(b, &child);
}

/* Of very many parents small ones are forgotten, but neither large ones nor how many there were. */
static void test_many_parents(void **state)
{
	const uint64_t nr = 1500000, first = 10000000;
	struct by_machine *b = make(20), *all = make(0);
	struct model_task lives = { .key.id = 5, .slot = 1, .nr = first - 1 };
	size_t nr_kept;

	by_machine_ops.spawn(b, &lives);
	for (uint64_t i = 0; i < nr; i++) {
		tell_child(b, i + 1, first + i);
		tell_child(all, i + 1, first + i);
		if (i % 500000 == 0)
			for (uint64_t k = 0; k < 10; k++)
				tell_child(b, 77, first + nr + i + k);
	}
	tell_child(b, 5, first + 3 * nr); /* it lives, and so was not forgotten */
	by_machine_get_parents(b, &nr_kept);
	assert_in_range(nr_kept, 2, 1 << 20);
	assert_int_equal(by_machine_get_nr_parents(b), nr);
	assert_int_equal(parent_of(b, 77)->nr_children, 31);
	assert_int_equal(parent_of(b, 5)->nr_children, 2);
	by_machine_get_parents(all, &nr_kept);
	assert_int_equal(nr_kept, nr);
	by_machine_free(b);
	by_machine_free(all);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_parts),     cmocka_unit_test(test_off_worker),
		cmocka_unit_test(test_never_running), cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_many_machines), cmocka_unit_test(test_many_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
