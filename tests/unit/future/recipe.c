// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that a recipe leads to where a future stands, in each shape that futures have: it is
 * compiled from types that the test made up, and followed by the agent's own code.
 */
#include <stdio.h>

#include "follow.h"

#define TABLE 0x4000 /* va */

static void test_chain(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 32, 24);
	uint8_t value[32] = { 0 };
	uint32_t at_sleep = type_await(inner, 20, type_sleep(), 0);
	uint32_t first = type_await(outer, 40, inner, 8), second = type_await(outer, 41, inner, 0);

	assert_stands(outer, value, "0 outer new");
	value[24] = first;
	value[16] = at_sleep;
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep");
	value[16] = 0;
	assert_stands(outer, value, "0 outer:40, 1 inner new");
	value[24] = second;
	value[8] = at_sleep;
	assert_stands(outer, value, "0 outer:41, 1 inner:20, 2 sleep");
	value[24] = 1;
	assert_stands(outer, value, "0 outer done");
	assert_int_equal(region->nr_bad_path, 0);
	value[24] = second + 1; /* no such state */
	assert_stands(outer, value, "");
	assert_int_equal(region->nr_bad_path, 1);
}

/* Of one generic function each instance has its own layout, also one inside of the other. */
static void test_instances(void **state)
{
	uint32_t sleep = type_sleep(), one = type_async("one", 16, 8);
	uint32_t of_sleep = type_async("timed<Sleep>", 16, 8),
		 of_one = type_async("timed<one>", 24, 16);
	uint32_t of_both = type_async("timed<timed<one>>", 40, 32);
	uint32_t at = type_await(one, 5, sleep, 0);
	uint8_t value[40] = { 0 };

	type_await(of_sleep, 7, sleep, 0);
	type_await(of_one, 7, one, 0);
	type_await(of_both, 7, of_one, 8);
	value[8] = at;
	assert_stands(of_sleep, value, "0 timed<Sleep>:7, 1 sleep");
	value[16] = at;
	assert_stands(of_one, value, "0 timed<one>:7, 1 one:5, 2 sleep");
	value[32] = value[24] = value[16] = at;
	assert_stands(of_both, value, "0 timed<timed<one>>:7, 1 timed<one>:7, 2 one:5, 3 sleep");
}

/* Option<F> has no number of its own: None is a state that F does not have. */
static uint32_t option_of(uint32_t future, uint64_t state_off)
{
	uint32_t type =
		type_new("core::option::Option<F>", LAYOUT_ENUM, type_of(future)->size_bytes);
	uint32_t none = type_variant(type, "None", 200), some = type_variant(type, "Some", 0);
	struct layout_variant *v = (struct layout_variant *)type_of(type)->variants;

	assert_int_equal(none, 0);
	v[some].is_default = true;
	type_variant_member(type, some, "__0", future, 0);
	type_of(type)->discr_off = state_off;
	type_of(type)->discr_bytes = 1;
	return type;
}

static void test_option(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 32, 24);
	uint32_t at_sleep = type_await(inner, 20, type_sleep(), 0);
	uint8_t value[32] = { 0 };

	value[24] = type_await(outer, 40, option_of(inner, 8), 0);
	value[8] = at_sleep;
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep");
	value[8] = 200; /* None */
	assert_stands(outer, value, "0 outer:40");
}

static void test_result(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 64, 56);
	uint32_t result = type_new("core::result::Result<F, E>", LAYOUT_ENUM, 24);
	uint8_t value[64] = { 0 };

	value[24] = type_await(inner, 20, type_sleep(), 0);
	value[56] = type_await(outer, 41, result, 8);
	type_of(result)->discr_bytes = 4;
	type_variant_member(result, type_variant(result, "Ok", 0), "__0", inner, 8);
	type_variant(result, "Err", 1);
	assert_stands(outer, value, "0 outer:41, 1 inner:20, 2 sleep");
	value[8] = 1;
	assert_stands(outer, value, "0 outer:41");
	value[8] = 2;
	assert_stands(outer, value, "");
}

/* A source that never waits is not waited for, nor is a stream of it that holds no future now. */
static void test_ready_source(void **state)
{
#define ITER "futures_util::stream::iter::Iter<Range>"
#define THEN "futures_util::stream::stream::then::Then<" ITER ">"
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 32, 24);
	uint32_t iter = type_new(ITER, LAYOUT_STRUCT, 8), then = type_new(THEN, LAYOUT_STRUCT, 24);
	uint32_t next = type_new("Next", LAYOUT_STRUCT, 24);
	uint8_t value[32] = { 0 };

	type_of(iter)->is_future = type_of(then)->is_future = type_of(next)->is_future = true;
	type_member(then, "stream", iter, 16);
	type_member(then, "future", option_of(inner, 8), 0);
	type_member(next, "stream", then, 0);
	value[8] = type_await(inner, 20, type_sleep(), 0);
	value[24] = type_await(outer, 40, next, 0);
	assert_stands(outer, value, "0 outer:40, 1 Next, 2 " THEN ", 3 inner:20, 4 sleep");
	value[8] = 200; /* None */
	assert_stands(outer, value, "0 outer:40, 1 Next");
}

static void test_boxes(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 16, 8);
	uint64_t boxed[2] = { 0, type_await(inner, 20, type_sleep(), 0) }, value[2] = { 0 };
	uint32_t by_box = type_await(outer, 40, type_box(inner), 0);
	uint32_t by_pin = type_await(outer, 41, type_pin_box(inner), 0);
	uint32_t by_mut = type_await(outer, 42, type_mut(inner), 0);

	value[0] = (uint64_t)boxed;
	value[1] = by_box;
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep");
	value[1] = by_pin;
	assert_stands(outer, value, "0 outer:41, 1 inner:20, 2 sleep");
	value[1] = by_mut;
	assert_stands(outer, value, "0 outer:42, 1 inner:20 borrowed, 2 sleep");
	value[0] = 0; /* it was moved away */
	assert_stands(outer, value, "");
	assert_int_equal(region->nr_bad_path, 1);
}

/* What a shared pointer leads to, or one that only looks, may be gone: it is no way down. */
static void test_not_owned(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 16, 8);
	uint32_t shared = type_new("&inner", LAYOUT_POINTER, 8);
	uint64_t value[2] = { 0x10, type_await(outer, 40, shared, 0) };

	type_await(inner, 20, type_sleep(), 0);
	type_of(shared)->target = inner;
	assert_stands(outer, value, "0 outer:40, 1 &inner");
}

static void test_dyn(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 24, 16);
	uint64_t boxed[2] = { 0, type_await(inner, 20, type_sleep(), 0) };
	uint64_t value[3] = { (uint64_t)boxed, BASE + TABLE, type_await(outer, 40, type_dyn(), 0) };

	type_vtable(TABLE, inner);
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep");
	assert_int_equal(recipes.dyns.nr, 1);
	value[1]++; /* a table that nobody knows: it may point anywhere */
	value[0] = 0x10;
	assert_stands(outer, value,
		      "0 outer:40, 1 alloc::boxed::Box<dyn core::future::future::Future>");
}

/* What a table of another object stands for is told in the types of that one. */
static void test_two_books(void **state)
{
	struct recipe_book *first = book;
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 24, 16);
	uint64_t boxed[2] = { 0, type_await(inner, 20, type_sleep(), 0) };
	uint64_t value[3] = { (uint64_t)boxed, 2 * BASE + TABLE,
			      type_await(outer, 40, type_dyn(), 0) };

	type_vtable(TABLE, inner);
	book = recipes_add(&recipes, NULL, 2 * BASE);
	assert_int_not_equal(compile(outer), 0);
	book = first;
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep");
	for (unsigned i = 2; i < RECIPE_MAX_BOOKS; i++)
		assert_non_null(recipes_add(&recipes, NULL, i * BASE));
	assert_null(recipes_add(&recipes, NULL, 0));
}

/* join! and select!: a PollFn whose closure has a &mut to a tuple of all that it waits for. */
static void test_branches(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 32, 24);
	uint32_t at_sleep = type_await(inner, 20, type_sleep(), 0), maybe = type_maybe_done(inner);
	uint32_t tuple = type_new("(MaybeDone<inner>, MaybeDone<inner>)", LAYOUT_STRUCT, 48);
	uint32_t env = type_new("outer::{closure_env#0}", LAYOUT_STRUCT, 8);
	uint32_t poll_fn =
		type_new("core::future::poll_fn::PollFn<outer::{closure_env#0}>", LAYOUT_STRUCT, 8);
	uint64_t arms[6] = { 0, 0, at_sleep, 0, 0, 0 }, value[4] = { (uint64_t)arms };

	type_member(tuple, "__0", maybe, 0);
	type_member(tuple, "__1", maybe, 24);
	type_member(env, "_ref__futures", type_mut(tuple), 0);
	type_member(poll_fn, "f", env, 0);
	type_of(poll_fn)->is_future = true;
	value[3] = type_await(outer, 40, poll_fn, 0);
#define JOIN "0 outer:40, 1 core::future::poll_fn::PollFn<outer::{closure_env#0}>, 2 "
#define ARM  "tokio::future::maybe_done::MaybeDone<inner>"
	assert_stands(outer, value, JOIN ARM ", 3 inner:20, 4 sleep, 2 " ARM ", 3 inner new");
	arms[3] = 1;
	assert_stands(outer, value, JOIN ARM ", 3 inner:20, 4 sleep, 2 " ARM " done");
	arms[0] = 2;
	assert_stands(outer, value, JOIN ARM " done, 2 " ARM " done");
	arms[0] = 3; /* no MaybeDone */
	assert_stands(outer, value, "");
}

static void test_arrays(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 56, 48);
	uint32_t array = type_new("[inner; 3]", LAYOUT_ARRAY, 48);
	uint8_t value[56] = { 0 };

	type_of(array)->target = inner;
	type_of(array)->nr_elements = 3;
	value[8] = type_await(inner, 20, type_sleep(), 0);
	value[40] = 1;
	value[48] = type_await(outer, 40, array, 0);
	assert_stands(outer, value, "0 outer:40, 1 inner:20, 2 sleep, 1 inner new, 1 inner done");
}

/* A task whose value is over holds its future in one variant only. */
static void test_stage(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), stage = type_new("Stage", LAYOUT_ENUM, 24);
	struct task_place place = { .task_bytes = 80, .off = 48, .type = stage };
	uint32_t variant = type_variant(stage, "Running", 0), edge;

	type_of(stage)->discr_bytes = 8;
	type_variant(stage, "Finished", 1);
	type_variant_member(stage, variant, "__0", inner, 8);
	edge = recipe_compile(book, &place);
	assert_int_not_equal(edge, 0);
	assert_int_equal(recipes.edges.v[edge].off, 56);
	assert_int_equal(recipe_compile(book, &place), edge);
	place.off = 64; /* its end is beyond that of the task */
	assert_int_equal(recipe_compile(book, &place), 0);
	place = (struct task_place){ .task_bytes = UINT64_MAX,
				     .off = UINT64_MAX - 4,
				     .type = stage };
	assert_int_equal(recipe_compile(book, &place), 0);
	place = (struct task_place){ .task_bytes = 80, .type = LAYOUT_NONE };
	assert_int_equal(recipe_compile(book, &place), 0);
}

/* ---- circles and depths ---- */

/* async fn f() { Box::pin(f()).await }: one node, however deep it is. */
static void test_recursion(void **state)
{
	uint32_t f = type_async("f", 16, 8);
	uint32_t deeper = type_await(f, 9, type_pin_box(f), 0),
		 nap = type_await(f, 11, type_sleep(), 0);
	uint64_t chain[3][2] = { { (uint64_t)chain[1], deeper },
				 { (uint64_t)chain[2], deeper },
				 { 0, nap } };
	size_t nr_nodes;

	assert_stands(f, chain, "0 f:9, 1 f:9, 2 f:11, 3 sleep");
	nr_nodes = recipes.nodes.nr;
	assert_true(nr_nodes <= 4);
	chain[2][0] = (uint64_t)chain; /* memory that leads in a circle */
	chain[2][1] = deeper;
	assert_stands(f, chain, ""); /* as far as there is room; see stand() */
	assert_int_equal(recipes.nodes.nr, nr_nodes);
}

/* What is cut off because it lies too deep in one future is so in all others, and none is wrong. */
static void test_depth(void **state)
{
	uint32_t types[400], last = type_sleep();
	uint8_t value[ARRAY_SIZE(types) + 16];
	char text[32], *stood;

	/* f0 is in f1 is in f2 …, each a byte larger, with its state at the end */
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		snprintf(text, sizeof(text), "f%u", i);
		types[i] = type_async(text, 9 + i, 8 + i);
		type_await(types[i], 1 + i, last, 0);
		last = types[i];
	}
	memset(value, 3, sizeof(value));
	assert_stands(last, value, ""); /* more choices than a path has room for */
	assert_stands(types[273], value, "0 f273:274, 1 f272:273, 2 f271");
	for (unsigned i = 0; i < 60; i++) {
		stood = stand(types[i], value);
		snprintf(text, sizeof(text), "%u f0:1, %u sleep", i, i + 1);
		assert_non_null(strstr(stood, text));
		free(stood);
	}
	assert_stands(types[273], value, "0 f273:274, 1 f272:273, 2 f271");
	assert_true(recipes.nodes.nr <= ARRAY_SIZE(types) + 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_chain),     TEST(test_instances),    TEST(test_option),
		TEST(test_result),    TEST(test_ready_source), TEST(test_boxes),
		TEST(test_not_owned), TEST(test_dyn),	       TEST(test_two_books),
		TEST(test_branches),  TEST(test_arrays),       TEST(test_stage),
		TEST(test_recursion), TEST(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
