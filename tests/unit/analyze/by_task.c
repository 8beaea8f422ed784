// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that the tasks kept are the first ones by the key, whatever the order in which they come,
 * and that a second pass finds the same ones. */
#include "unit.h"

#include "script.h"

#include "analyze/by_task.h"

static uint64_t by_polls(void *arg, const struct by_task_row *row)
{
	++*(unsigned *)arg;
	return row->task.polls;
}

static void tell(struct by_task *b, uint64_t nr, uint64_t polls)
{
	by_task_ops.task(b, &(struct model_task){ .nr = nr, .polls = polls });
}

/* Against a plain search among all of them, for many limits and numbers with many equals. */
static void test_first_ones(void **state)
{
	uint64_t seed = 31, polls[100];

	for (unsigned round = 0; round < 200; round++) {
		size_t all = unit_random(&seed) % 100, limit = unit_random(&seed) % 20, nr;
		unsigned asked = 0;
		struct by_task *b = by_task_new(limit, by_polls, &asked);
		const struct by_task_row *rows;

		for (size_t i = 0; i < all; i++)
			tell(b, i, polls[i] = unit_random(&seed) % 30);
		rows = by_task_get_rows(b, &nr);
		assert_int_equal(asked, all);
		assert_int_equal(by_task_get_nr_seen(b), all);
		assert_int_equal(nr, limit ? MIN(limit, all) : all);
		for (size_t k = 0; k < nr; k++) {
			size_t before = 0, me = rows[k].task.nr;

			for (size_t i = 0; i < all; i++)
				before += polls[i] > polls[me] || (polls[i] == polls[me] && i < me);
			assert_int_equal(before, k);
			assert_null(rows[k].detail);
		}
		by_task_free(b);
	}
}

static void pass(const struct model_ops *ops, struct by_task *b)
{
	static const struct event evs[] = {
		POLL(10, 0, 1),		END(30, 0, 0),	    WAKE(50, 0, 1, 0),
		POLL(60, 0, 1),		END(70, 0, 0),	    POLL(100, 0, 2),
		END(200, 0, 0),		WAKE(210, 0, 2, 0), POLL(215, 0, 2),
		END(220, 0, 0),		WAKE(300, 0, 2, 0), START(310, 0, 2, ASYNC, EF_RUN_DROP),
		END(400, 0, CANCELLED), POLL(500, 0, 3),    END(501, 0, COMPLETE),
	};
	struct model *m = model_new(script_types, NR_TYPES);

	model_add_sink(m, ops, b);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 1000, NULL);
	model_free(m);
}

static uint64_t by_busy(void *arg, const struct by_task_row *row)
{
	return row->task.ns[MODEL_RUNNING];
}

/* Polls only, and only those of the tasks that were asked for. */
static void test_detail(void **state)
{
	struct by_task *b = by_task_new(2, by_busy, NULL);
	const struct by_task_row *rows;
	size_t nr;

	pass(&by_task_ops, b);
	rows = by_task_get_rows(b, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(by_task_get_nr_seen(b), 3);
	assert_int_equal(rows[0].task.key.id, 2);
	assert_int_equal(rows[1].task.key.id, 1);
	by_task_want_detail(b, 1);
	pass(&by_task_detail_ops, b);
	assert_null(rows[1].detail);
	assert_int_equal(rows[0].detail->poll.nr, rows[0].task.polls);
	assert_int_equal(rows[0].detail->poll.nr, 2);
	assert_int_equal(rows[0].detail->poll.sum, 105);
	assert_int_equal(rows[0].detail->poll.max, rows[0].task.max_poll_ns);
	assert_int_equal(rows[0].detail->sched.max, 5);
	assert_int_equal(rows[0].detail->idle.nr, 1);
	assert_int_equal(rows[0].detail->idle.sum, 10);
	by_task_free(b);
}

static void test_nothing(void **state)
{
	struct by_task *b = by_task_new(0, by_busy, NULL);
	size_t nr;

	by_task_get_rows(b, &nr);
	assert_int_equal(nr, 0);
	by_task_want_detail(b, 10);
	by_task_free(b);
	by_task_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_ones),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
