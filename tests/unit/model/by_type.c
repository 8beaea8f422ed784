// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks are added up by the exact name and kind of their type, busiest first. */
#include "unit.h"

#include "script.h"

#include "model/by_type.h"

static void feed(struct by_type *by)
{
	static const struct event evs[] = {
		POLL(10, 0, 1),
		END(12, 0, COMPLETE),
		START(20, 0, 1, OTHER_COPY, 0),
		END(25, 0, COMPLETE | EF_END_PANICKED),
		START(30, 0, 2, LOCAL, 0),
		END(130, 0, 0),
		START(140, 0, 3, STRIPPED_TASK, 0),
		END(141, 0, 0),
		START(150, 0, 4, EVENT_TYPE_NONE, 0),
		END(151, 0, 0),
		POLL(160, 0, 5),
		END(161, 0, COMPLETE),
	};
	struct model *m = model_new(script_types, NR_TYPES);

	model_add_sink(m, &by_type_ops, by);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 1000, NULL);
	model_free(m);
}

static void test_rows(void **state)
{
	struct by_type *by = by_type_new(script_types, NR_TYPES);
	const struct by_type_row *rows;
	size_t nr;

	feed(by);
	rows = by_type_get_rows(by, &nr);
	assert_int_equal(nr, 4);
	assert_string_equal(rows[0].name, "app::local");
	assert_int_equal(rows[0].kind, TRACE_LOCAL);
	/* two tables of one name are one row */
	assert_string_equal(rows[1].name, "app::work");
	assert_int_equal(rows[1].nr_tasks, 3);
	assert_int_equal(rows[1].ns[MODEL_RUNNING], 8);
	assert_int_equal(rows[1].max_poll_ns, 5);
	assert_int_equal(rows[1].ends[MODEL_COMPLETED], 2);
	assert_int_equal(rows[1].ends[MODEL_PANICKED], 1);
	assert_null(rows[2].name);
	assert_int_equal(rows[3].type, EVENT_TYPE_NONE);
	assert_int_equal(by_type_total(by).nr_tasks, 6);
	assert_int_equal(by_type_total(by).ends[MODEL_ALIVE], 3);
	by_type_free(by);
}

/* Asking for the rows midway disturbs nothing. */
static void test_more_after_rows(void **state)
{
	struct by_type *by = by_type_new(script_types, NR_TYPES);
	size_t nr;

	feed(by);
	by_type_get_rows(by, &nr);
	feed(by);
	assert_int_equal(by_type_get_rows(by, &nr)[1].nr_tasks, 6);
	assert_int_equal(nr, 4);
	by_type_free(by);
}

/* Two tables with one list of candidates may be two types: each keeps its own counts. */
static void test_candidates_stay_apart(void **state)
{
	static const struct trace_type types[] = {
		{ .name = "a | b", .nr_candidates = 2 },
		{ .name = "a | b", .nr_candidates = 2 },
		{ .name = "c", .nr_candidates = 1 },
		{ .name = "c", .nr_candidates = 1 },
	};
	static const struct event evs[] = {
		START(0, 0, 1, 0, 0),	END(40, 0, COMPLETE),  START(50, 0, 2, 1, 0),
		END(80, 0, COMPLETE),	START(90, 0, 3, 2, 0), END(100, 0, COMPLETE),
		START(101, 0, 4, 3, 0), END(111, 0, COMPLETE), START(120, 0, 5, 1, 0),
		END(125, 0, COMPLETE),
	};
	struct by_type *by = by_type_new(types, ARRAY_SIZE(types));
	struct model *m = model_new(types, ARRAY_SIZE(types));
	const struct by_type_row *rows;
	size_t nr;

	model_add_sink(m, &by_type_ops, by);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 200, NULL);
	rows = by_type_get_rows(by, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(rows[0].type, 0);
	assert_int_equal(rows[0].nr_tasks, 1);
	assert_false(rows[0].is_exact);
	assert_int_equal(rows[1].type, 1);
	assert_int_equal(rows[1].nr_tasks, 2);
	assert_string_equal(rows[2].name, "c");
	assert_int_equal(rows[2].nr_tasks, 2);
	assert_true(rows[2].is_exact);
	model_free(m);
	by_type_free(by);
}

/* Sleeping inside polls is told by type: how many polls, how long in all and at most in one. */
static void test_blocked(void **state)
{
	static const struct event evs[] = {
		POLL(10, 0, 1),	   EV(20, 0, SLEEP), EV(50, 0, AWAKE), EV(60, 0, SLEEP),
		EV(70, 0, AWAKE),  END(100, 0, 0),   POLL(110, 0, 2),  EV(120, 0, SLEEP),
		EV(125, 0, AWAKE), END(130, 0, 0),   POLL(140, 0, 2),  END(150, 0, 0),
		EV(160, 0, SLEEP), /* between polls: nobody's */
		EV(900, 0, AWAKE),
	};
	struct by_type *by = by_type_new(script_types, NR_TYPES);
	struct model *m = model_new(script_types, NR_TYPES);
	const struct by_type_row *rows;
	size_t nr;

	model_add_sink(m, &by_type_ops, by);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 1000, NULL);
	rows = by_type_get_rows(by, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].blocked_ns, 45);
	assert_int_equal(rows[0].nr_blocked_polls, 2);
	assert_int_equal(rows[0].max_blocked_poll_ns, 40);
	model_free(m);
	by_type_free(by);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_more_after_rows),
		cmocka_unit_test(test_candidates_stay_apart),
		cmocka_unit_test(test_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
