// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks are added up by the exact name and kind of their type, and polls with them. */
#include "unit.h"

#include "script.h"

#include "analyze/by_type.h"

static void feed_all(struct by_type *by, const struct recording *rec, const struct event *evs,
		     size_t nr)
{
	struct model *m = model_new(rec->types, rec->nr_types);

	model_add_sink(m, &by_type_ops, by);
	model_feed(m, evs, nr);
	model_finish(m, 1000, NULL);
	model_free(m);
}

static struct recording make(const struct trace_type *types, uint32_t nr)
{
	struct recording rec = { .types = types, .nr_types = nr };

	recording_make_groups(&rec);
	return rec;
}

static const struct by_type_row *row_of(const struct by_type *by, const struct recording *rec,
					uint16_t type)
{
	return &by_type_get_rows(by)[recording_group_of(rec, type)];
}

static void test_rows(void **state)
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
	struct recording rec = make(script_types, NR_TYPES);
	struct by_type *by = by_type_new(&rec);
	const struct by_type_row *row;
	struct by_type_row total;

	feed_all(by, &rec, evs, ARRAY_SIZE(evs));
	/* two tables of one name are one row */
	row = row_of(by, &rec, ASYNC);
	assert_ptr_equal(row, row_of(by, &rec, OTHER_COPY));
	assert_int_equal(row->nr_tasks, 3);
	assert_int_equal(row->ns[MODEL_RUNNING], 8);
	assert_int_equal(row->max_poll_ns, 5);
	assert_int_equal(row->poll.nr, 3);
	assert_int_equal(row->poll.sum, 8);
	assert_int_equal(row->ends[MODEL_COMPLETED], 2);
	assert_int_equal(row->ends[MODEL_PANICKED], 1);
	assert_int_equal(row_of(by, &rec, LOCAL)->nr_tasks, 1);
	assert_int_equal(row_of(by, &rec, LOCAL)->group->kind, TRACE_LOCAL);
	assert_null(row_of(by, &rec, STRIPPED_TASK)->group->name);
	assert_int_equal(row_of(by, &rec, EVENT_TYPE_NONE)->nr_tasks, 1);
	by_type_get_total(by, &total);
	assert_int_equal(total.nr_tasks, 6);
	assert_int_equal(total.ends[MODEL_ALIVE], 3);
	assert_int_equal(total.poll.nr, 6);
	by_type_row_release(&total);
	by_type_free(by);
	recording_close(&rec);
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
	struct recording rec = make(types, ARRAY_SIZE(types));

	assert_int_equal(rec.nr_groups, 4);
	assert_int_not_equal(recording_group_of(&rec, 0), recording_group_of(&rec, 1));
	assert_false(rec.groups[recording_group_of(&rec, 0)].is_exact);
	assert_int_equal(recording_group_of(&rec, 2), recording_group_of(&rec, 3));
	assert_true(rec.groups[recording_group_of(&rec, 2)].is_exact);
	recording_close(&rec);
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
	struct recording rec = make(script_types, NR_TYPES);
	struct by_type *by = by_type_new(&rec);
	const struct by_type_row *row = row_of(by, &rec, ASYNC);

	feed_all(by, &rec, evs, ARRAY_SIZE(evs));
	assert_int_equal(row->blocked_ns, 45);
	assert_int_equal(row->nr_blocked_polls, 2);
	assert_int_equal(row->max_blocked_poll_ns, 40);
	by_type_free(by);
	recording_close(&rec);
}

/* How many there were at one time: those that ended make room at once, and take it again if it
 * turns out that they had not. */
static void test_peak(void **state)
{
	static const struct event evs[] = {
		POLL(10, 0, 1), END(11, 0, 0), POLL(12, 0, 2), END(13, 0, COMPLETE),
		POLL(14, 0, 3), END(15, 0, 0), POLL(16, 0, 4), END(17, 0, COMPLETE),
		POLL(18, 0, 2), END(19, 0, 0),
	};
	struct recording rec = make(script_types, NR_TYPES);
	struct by_type *by = by_type_new(&rec);

	feed_all(by, &rec, evs, ARRAY_SIZE(evs));
	assert_int_equal(row_of(by, &rec, ASYNC)->peak, 3);
	assert_int_equal(row_of(by, &rec, ASYNC)->nr_live, 3);
	by_type_free(by);
	recording_close(&rec);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_candidates_stay_apart),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
