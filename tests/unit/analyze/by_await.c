// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that each wait is counted once at the line where a person would look for it, and at all
 * lines around it. */
#include "paths.h"

#include "analyze/by_await.h"

static const struct by_await_row *row_of(const struct by_await *b, unsigned step)
{
	return &b->v[path_rec.awaits.point_of[step]];
}

static void check_own_lines(const struct by_await *b)
{
	const struct by_await_row *row = row_of(b, FIRST_A);

	assert_int_equal(row->nr, 2);
	assert_int_equal(row->nr_tasks, 2);
	assert_int_equal(row->idle_ns, 140);
	assert_int_equal(row->sched_ns, 10);
	assert_int_equal(row->wait_ns, 150);
	assert_int_equal(row->wait.max, 90);
	assert_int_equal(row->wakes[MODEL_BY_WORKER], 2);
	assert_string_equal(row->leaf->leaf, "sleep");
	assert_int_equal(row->longest.id, 1);
	assert_int_equal(row->longest_at_ns, 20);
	row = row_of(b, FIRST_B); /* the lock's own line is a library's */
	assert_int_equal(row->nr, 3);
	assert_int_equal(row->nr_tasks, 2);
	assert_int_equal(row->nr_dropped, 1);
	assert_int_equal(row->wait_ns, 50 + 120 + 200);
	assert_int_equal(row->wakes[MODEL_BY_TASK], 1);
	assert_string_equal(row->leaf->leaf, "mutex");
	assert_int_equal(row->start_ns, 120);
	assert_int_equal(row->end_ns, 410);
}

static void check_lines_around(const struct by_await *b)
{
	const struct by_await_row *row = row_of(b, B_LOCK);

	assert_int_equal(row->nr, 0);
	assert_int_equal(row->nr_all, 3);
	row = row_of(b, FIRST); /* awaits `inner` all the while */
	assert_int_equal(row->nr, 0);
	assert_int_equal(row->nr_all, 5);
	assert_int_equal(row->all_ns, 150 + 370);
}

static void test_waits(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0), /* thread 0 is a worker */
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		WAKE(100, 0, 1, 0),
		POLL_AT(110, 0, 1, AT_A), /* 80 idle, 10 scheduled: the timer */
		END(120, 0, 0),
		POLL_AT(130, 0, 2, AT_START),
		END(140, 0, 0),
		POLL_AT(150, 0, 3, AT_START),
		WAKE(155, 0, 1, 0), /* by task 3 */
		END(160, 0, 0),
		POLL_AT(170, 0, 1, AT_B), /* 35 idle, 15 scheduled: the lock */
		END(180, 0, 0),
		WAKE(200, 0, 2, 0),
		POLL_AT(200, 0, 2, AT_A), /* 60 idle */
		END(210, 0, 0),
		WAKE(300, 0, 1, 0),
		POLL_AT(300, 0, 1, AT_B), /* 120 idle */
		END(310, 0, COMPLETE),
		WAKE(400, 1, 2, EF_WAKE_ABORT),
		DROP_AT(410, 0, 2, AT_B), /* 190 idle, 10 scheduled, and then dropped */
		END(420, 0, CANCELLED),
	};
	struct by_path *paths_ = play_paths(evs, ARRAY_SIZE(evs), 1000);
	struct by_await b;
	const struct by_await_row *row;

	by_await_init(&b, &path_rec, paths_);
	check_own_lines(&b);
	check_lines_around(&b);
	/* task 3 waits until the end, nobody knows where */
	row = &b.v[b.nr - 1];
	assert_null(row->step);
	assert_int_equal(row->nr, 1);
	assert_int_equal(row->nr_open, 1);
	assert_int_equal(row->nr_tasks, 1);
	assert_string_equal(by_await_rest_name(row), "still waiting at the end");
	assert_int_equal(b.v[b.nr - 2].nr, 0);
	assert_int_equal(row->wait_ns, 1000 - 160);
	by_await_release(&b);
	by_path_free(paths_);
	by_path_free(NULL);
}

static void test_branches(void **state)
{
	static const struct event evs[] = {
		POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),  WAKE(100, 0, 1, 0),
		POLL_AT(100, 0, 1, AT_RACE), END(110, 0, 0), WAKE(120, 0, 1, 0),
		POLL_AT(120, 0, 1, 0), /* not known */
		END(130, 0, COMPLETE),
	};
	struct by_path *paths_ = play_paths(evs, ARRAY_SIZE(evs), 1000);
	struct by_await b;

	by_await_init(&b, &path_rec, paths_);
	/* it waited in both, and in the line around them; a channel has no line of its own */
	assert_int_equal(row_of(&b, RACE_SLOW)->wait_ns, 80);
	assert_int_equal(row_of(&b, RACE)->wait_ns, 80);
	assert_int_equal(row_of(&b, RACE)->nr, 1);
	assert_int_equal(row_of(&b, RACE)->nr_all, 1);
	assert_string_equal(row_of(&b, RACE)->leaf->leaf, "mpsc");
	assert_int_equal(b.v[b.nr - 1].nr, 0);
	assert_int_equal(b.v[b.nr - 2].nr, 1);
	assert_int_equal(b.v[b.nr - 2].nr_open, 0);
	assert_int_equal(b.v[b.nr - 2].wait_ns, 10);
	assert_string_equal(by_await_rest_name(&b.v[b.nr - 2]), "place not known");
	by_await_release(&b);
	by_path_free(paths_);
}

/* As hostile files have it: chains without an end, steps around themselves. */
static void test_chains(void **state)
{
	static struct trace_step chain[3000];
	uint32_t trunk[4];
	struct steps s;

	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++)
		chain[i] = (struct trace_step)WAITS_AT(i ? i - 1 : 0, "f", "f.rs", i);
	steps_init(&s, chain, ARRAY_SIZE(chain));
	assert_int_equal(s.outer[0], TRACE_NO_STEP);
	assert_int_equal(s.depth[STEPS_MAX_DEPTH - 1], STEPS_MAX_DEPTH - 1);
	assert_int_equal(s.outer[STEPS_MAX_DEPTH], TRACE_NO_STEP);
	assert_int_equal(s.nr_futures, 1);
	assert_int_equal(s.nr_points, 3000);
	assert_int_equal(steps_get_trunk(&s, &(struct trace_path)PATH(9), trunk, 4), 4);
	assert_int_equal(trunk[0], 0);
	assert_int_equal(trunk[3], 3);
	assert_int_equal(steps_get_trunk(&s, &(struct trace_path)PATH(9, 1), trunk, 4), 2);
	/* no step in common */
	assert_int_equal(steps_get_trunk(&s, &(struct trace_path)PATH(9, 2000), trunk, 4), 0);
	steps_release(&s);
}

/* Waits that took no time were somebody's, too. */
static void test_no_time(void **state)
{
	static const struct event evs[] = {
		POLL_AT(10, 0, 5, AT_START), END(20, 0, 0), WAKE(20, 1, 5, 0),
		POLL_AT(20, 0, 5, AT_B),     END(30, 0, 0), WAKE(30, 1, 5, 0),
		POLL_AT(30, 0, 5, AT_B),     END(40, 0, 0),
	};
	struct by_path *paths_ = play_paths(evs, ARRAY_SIZE(evs), 1000);
	const struct by_await_row *row;
	struct by_await b;

	by_await_init(&b, &path_rec, paths_);
	row = row_of(&b, FIRST_B);
	assert_int_equal(row->nr, 2);
	assert_int_equal(row->wait_ns, 0);
	assert_int_equal(row->longest.id, 5);
	assert_int_equal(row->longest_at_ns, 20);
	by_await_release(&b);
	by_path_free(paths_);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_no_time),
	};

	return cmocka_run_group_tests(tests, make_path_rec, release_path_rec);
}
