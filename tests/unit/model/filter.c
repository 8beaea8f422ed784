// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which tasks a filter wants, and what it refuses to understand. */
#include "unit.h"

#include <string.h>

#include "model/filter.h"

static const struct trace_type types[] = {
	{ .name = "app::serve", .file = "src/main.rs", .line = 51, .kind = TRACE_TASK },
	{ .name = "app::Map<u8, app::Pair<(i8, i16)>>", .file = "", .kind = TRACE_LOCAL },
	{ .name = "", .file = "", .kind = TRACE_BLOCKING },
};

static const struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };

static const struct model_task serve = {
	.key = { .id = 5, .runtime = 1, .type = 0 },
	.nr = 70,
	.kind = TRACE_TASK,
	.end = MODEL_CANCELLED,
	.has_parent = true,
	.parent = { .id = 3 },
	.spawn_ns = 1000,
	.end_ns = 2000001000,
	.ns = { [MODEL_RUNNING] = 10, [MODEL_SCHEDULED] = 20, [MODEL_IDLE] = 30 },
	.polls = 7,
	.max_poll_ns = 11,
	.max_sched_ns = 12,
	.blocked_ns = 13,
	.max_blocked_ns = 14,
	.wakes = { [MODEL_BY_SELF] = 2, [MODEL_BY_TASK] = 3 },
};
static const struct model_task map = { .key = { .id = 6, .type = 1 }, .kind = TRACE_LOCAL };
static const struct model_task unnamed = { .key = { .id = 7, .type = 2 }, .kind = TRACE_BLOCKING };
static const struct model_task stray = {
	.key = { .id = 8, .type = EVENT_TYPE_NONE, .runtime = MODEL_NO_RUNTIME }
};

static bool wants(const char *text, const struct model_task *t)
{
	struct err e = ERR_INIT;
	struct filter *f = filter_new(&rec, text, &e);
	bool answer;

	if (!f)
		fail_msg("%s: %s", text, e.msg);
	answer = filter_wants(f, t);
	/* what is wanted in the end was not refused at the beginning */
	assert_true(!answer || filter_may_want(f, t));
	filter_free(f);
	return answer;
}

/* Each condition holds of the task, and its opposite does not. */
static void test_conditions(void **state)
{
	static const char *const cases[][2] = {
		{ "type=app::serve", "type!=app::serve" },
		{ "type~serv", "type!~serv" },
		{ "type!=serve", "type=serve" },
		{ "place~main.rs", "place!~main.rs" },
		{ "place=src/main.rs:51", "place=src/main.rs" },
		{ "id=5", "id!=5" },
		{ "id>4", "id>5" },
		{ "runtime=1", "runtime=0" },
		{ "kind=task", "kind=local" },
		{ "kind!=blocking", "kind!=task" },
		{ "parent=3", "parent=5" },
		{ "state=cancelled", "state=alive" },
		{ "state!=completed", "state!=cancelled" },
		{ "life=2s", "life<2s" },
		{ "life>=2s", "life>2s" },
		{ "life<=2000ms", "life<=1.9s" },
		{ "busy=10ns", "busy>10ns" },
		{ "sched>19ns", "sched<20ns" },
		{ "idle<31ns", "idle<30ns" },
		{ "max_poll=11ns", "max_poll=12ns" },
		{ "max_sched=12ns", "max_sched=11ns" },
		{ "blocked=13ns", "blocked=14ns" },
		{ "max_blocked=14ns", "max_blocked=13ns" },
		{ "polls=7", "polls>7" },
		{ "wakes=5", "wakes=2" },
		{ "self_wakes=2", "self_wakes=5" },
		{ "type~serve,polls>6,kind=task", "type~serve,polls>6,kind=local" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(wants(cases[i][0], &serve));
		assert_false(wants(cases[i][1], &serve));
	}
}

/* Commas inside the brackets of a type's name belong to the name. */
static void test_commas(void **state)
{
	assert_true(wants("type=app::Map<u8, app::Pair<(i8, i16)>>,kind=local", &map));
	assert_false(wants("type=app::Map<u8, app::Pair<(i8, i16)>>,kind=task", &map));
	assert_true(wants("type~Map<u8, app::Pair<(i8, i16)>>", &map));
	assert_true(wants("kind=local,type~Pair<(i8, i16)>,id<7", &map));
	assert_true(wants("kind=local,type~Map<", &map));
}

/* What has no name has the one that reports give it; what has no place has none. */
static void test_unknown(void **state)
{
	assert_true(wants("type=type#2", &unnamed));
	assert_true(wants("place=", &unnamed));
	assert_false(wants("place~main", &unnamed));
	assert_true(wants("type~unknown", &stray));
	assert_false(wants("runtime=1", &stray));
	assert_false(wants("parent=3", &stray));
}

/* A filter is late if it asks for what a task did, and not if only for what it is. */
static void test_late(void **state)
{
	static const char *const early[] = { "type~a", "place~a", "id=1", "kind=task",
					     "runtime=0,id>5" };
	static const char *const late[] = { "polls>1", "state=alive", "life>1s", "id=1,busy>1s",
					    "parent=1" };

	for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
		struct filter *f = filter_new(&rec, early[i], NULL);

		assert_false(filter_is_late(f));
		filter_free(f);
		f = filter_new(&rec, late[i], NULL);
		assert_true(filter_is_late(f));
		filter_free(f);
	}
}

/* Nothing that is only known at the end refuses a task at the beginning. */
static void test_may_want(void **state)
{
	struct filter *f = filter_new(&rec, "id=5,polls>100", NULL);

	assert_true(filter_may_want(f, &serve));
	assert_false(filter_wants(f, &serve));
	assert_false(filter_may_want(f, &map));
	filter_free(f);
}

/* Marks are kept by the task's number, and clearing forgets them. */
static void test_marks(void **state)
{
	struct filter *f = filter_new(&rec, "polls>1", NULL);

	assert_false(filter_is_marked(f, &serve));
	filter_mark(f, &serve);
	assert_true(filter_is_marked(f, &serve));
	assert_false(filter_is_marked(f, &(struct model_task){ .nr = 69 }));
	assert_false(filter_is_marked(f, &(struct model_task){ .nr = 71 }));
	assert_false(filter_is_marked(f, &(struct model_task){ .nr = 7000 }));
	filter_clear(f);
	assert_false(filter_is_marked(f, &serve));
	filter_free(f);
}

/* Each mistake is a usage error whose message names what is wrong. */
static void test_errors(void **state)
{
	static const char *const cases[][2] = {
		{ "", "type~serve" },
		{ "type", "'type'" },
		{ "tipe=x", "'tipe'" },
		{ "polls>x", "'x'" },
		{ "polls>", "''" },
		{ "polls>-1", "'-1'" },
		{ "life>1parsec", "'1parsec'" },
		{ "life>5,", "''" },
		{ ",life>5", "''" },
		{ "kind=helper", "'helper'" },
		{ "kind>task", "kind=" },
		{ "state~alive", "state=" },
		{ "state=dead", "'dead'" },
		{ "type>5", "type is text" },
		{ "type~", "type: " },
		{ "type=,kind=task", "type: " },
		{ "place!~", "place: " },
		{ "type~Map<,kind=task", "'Map<,kind=task'" },
		{ "polls~5", "polls" },
		{ "id=5 ,polls>1", "'5 '" },
		{ "id=99999999999999999999", "'99999999999999999999'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = ERR_INIT;

		assert_null(filter_new(&rec, cases[i][0], &e));
		assert_int_equal(e.tag, ERR_USAGE);
		if (!strstr(e.msg, cases[i][1]))
			fail_msg("%s: '%s' does not say %s", cases[i][0], e.msg, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions), cmocka_unit_test(test_commas),
		cmocka_unit_test(test_unknown),	   cmocka_unit_test(test_late),
		cmocka_unit_test(test_may_want),   cmocka_unit_test(test_marks),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
