// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves which parts of a value are ways down to what it waits for, and which are not: those that
 * are only borrowed, shared, called or in doubt; and those that do not lie in it at all.
 */
#include "future/parts.h"

#include <string.h>

#include "types.h"

static struct parts parts;

static int set_up(void **state)
{
	parts_init(&parts, NULL);
	return 0;
}

static int tear_down(void **state)
{
	parts_release(&parts);
	types_release();
	return 0;
}

static uint32_t future(void)
{
	uint32_t type = type_async("work", 16, 8);

	type_await(type, 20, type_sleep(), 0);
	return type;
}

static uint32_t struct_with(const char *name, uint32_t member)
{
	uint32_t type = type_new(name, LAYOUT_STRUCT, 32);

	type_member(type, "a", member, 8);
	return type;
}

/* Of a value without variants. */
static void assert_one_part(uint32_t type, uint64_t off, uint32_t part)
{
	struct part out[PARTS_MAX];

	assert_true(parts_hold(&parts, type));
	assert_int_equal(parts_list(&parts, type, PARTS_NO_VARIANT, out), 1);
	assert_int_equal(out[0].off, off);
	assert_int_equal(out[0].type, part);
}

static void assert_no_part(uint32_t type)
{
	struct part out[PARTS_MAX];

	assert_int_equal(parts_list(&parts, type, PARTS_NO_VARIANT, out), 0);
}

static void test_coroutine(void **state)
{
	uint32_t inner = future(), outer = type_async("outer", 40, 32);
	uint32_t at = type_await(outer, 40, inner, 16);
	struct part out[PARTS_MAX];

	assert_int_equal(parts_role(&parts, outer), PARTS_COROUTINE);
	assert_int_equal(parts_list(&parts, outer, 0, out), 0); /* not started */
	assert_int_equal(parts_list(&parts, outer, at, out), 1);
	assert_int_equal(out[0].off, 16);
	assert_int_equal(out[0].type, inner);
	assert_int_equal(parts_list(&parts, outer, at + 1, out), 0); /* there is none */
	assert_no_part(outer);
	type_of(outer)->discr_bytes = 0;
	assert_int_equal(parts_role(&parts, outer), PARTS_NONE);
}

static void test_owners(void **state)
{
	uint32_t inner = future(), box = type_box(inner), pin = type_pin_box(inner);

	assert_int_equal(parts_role(&parts, box), PARTS_POINTER);
	assert_one_part(box, 0, inner);
	assert_one_part(pin, 0, pin - 1);
	assert_one_part(type_mut(inner), 0, inner);
	assert_one_part(struct_with("Timeout", inner), 8, inner);
	assert_int_equal(parts_role(&parts, type_dyn()), PARTS_DYN);
}

static void test_strangers(void **state)
{
	uint32_t inner = future(), shared = type_new("&work", LAYOUT_POINTER, 8);
	uint32_t closure = struct_with("shop::main::{closure_env#0}", inner);
	uint32_t number = type_new("u64", LAYOUT_NUMBER, 8);

	type_of(shared)->target = inner;
	assert_false(parts_hold(&parts, shared));
	assert_false(parts_hold(&parts, number));
	assert_false(parts_hold(&parts, LAYOUT_NONE));
	assert_false(parts_hold(&parts, struct_with("Handle", shared)));
	assert_false(parts_hold(&parts, closure)); /* it is called, not polled */
	assert_false(parts_hold(&parts, type_box(number)));
}

/* … but what the closure of a poll_fn has captured is polled by it: join!, select!. */
static void test_poll_fn(void **state)
{
	uint32_t inner = future(), closure = struct_with("shop::main::{closure_env#0}", inner);
	uint32_t poll_fn = type_new("core::future::poll_fn::PollFn<shop::main::{closure_env#0}>",
				    LAYOUT_STRUCT, 40);

	type_of(poll_fn)->is_future = true;
	type_member(poll_fn, "f", closure, 8);
	assert_one_part(poll_fn, 16, inner);
}

/* Of members that share their place nobody knows which one is there. */
static void test_unions(void **state)
{
	uint32_t inner = future(), nothing = type_new("()", LAYOUT_STRUCT, 0);
	uint32_t both = struct_with("Slot", inner), one = struct_with("Marked", inner);
	uint32_t maybe = struct_with("core::mem::maybe_uninit::MaybeUninit<work>", inner);

	type_member(both, "b", type_new("u64", LAYOUT_NUMBER, 8), 8);
	type_member(one, "marker", nothing, 8); /* takes no room */
	assert_int_equal(parts_role(&parts, both), PARTS_NONE);
	assert_false(parts_hold(&parts, both));
	assert_one_part(one, 8, inner);
	assert_false(parts_hold(&parts, maybe));
}

static void test_enums(void **state)
{
	uint32_t inner = future(), maybe = type_maybe_done(inner);
	uint32_t never = type_new("Never", LAYOUT_ENUM, 0);
	struct part out[PARTS_MAX];

	assert_int_equal(parts_list(&parts, maybe, 0, out), 1);
	assert_int_equal(out[0].off, 8);
	assert_int_equal(parts_list(&parts, maybe, 1, out), 0);
	assert_int_equal(parts_list(&parts, maybe, 3, out), 0);
	type_member(maybe, "beside", inner, 0); /* whatever the variant */
	assert_int_equal(parts_list(&parts, maybe, 1, out), 1);
	assert_int_equal(parts_list(&parts, maybe, 0, out), 2);
	assert_int_equal(parts_role(&parts, never), PARTS_NONE);
}

static void test_arrays(void **state)
{
	uint32_t inner = future(), array = type_new("[work; 3]", LAYOUT_ARRAY, 48);
	struct part out[PARTS_MAX];

	type_of(array)->target = inner;
	type_of(array)->nr_elements = 3;
	assert_int_equal(parts_list(&parts, array, PARTS_NO_VARIANT, out), 3);
	assert_int_equal(out[2].off, 32);
	type_of(array)->nr_elements = UINT64_MAX; /* than there is room for */
	assert_int_equal(parts_list(&parts, array, PARTS_NO_VARIANT, out), 3);
	type_of(array)->size_bytes = UINT32_MAX;
	assert_int_equal(parts_list(&parts, array, PARTS_NO_VARIANT, out), PARTS_MAX);
	type_of(array)->target = type_new("[work; 0]", LAYOUT_ARRAY, 0);
	assert_no_part(array);
}

/* So many that some are left out, and the rest are those that come first. */
static void test_many(void **state)
{
	uint32_t inner = future(), type = type_new("Many", LAYOUT_STRUCT, 1600);
	struct part out[PARTS_MAX];

	for (unsigned i = 0; i < 100; i++)
		type_member(type, "m", inner, 16 * i);
	assert_int_equal(parts_list(&parts, type, PARTS_NO_VARIANT, out), PARTS_MAX);
	assert_int_equal(out[PARTS_MAX - 1].off, 16 * (PARTS_MAX - 1));
}

static void test_fit(void **state)
{
	uint32_t inner = future(), type = struct_with("Odd", inner);
	struct layout_member *m = (struct layout_member *)type_of(type)->members;

	assert_true(parts_fit(16, 8, 8));
	assert_true(parts_fit(16, 16, 0));
	assert_false(parts_fit(16, 8, 9));
	assert_false(parts_fit(16, 17, 0));
	assert_false(parts_fit(16, UINT64_MAX, 1));
	assert_false(parts_fit(16, 8, UINT64_MAX));
	assert_false(parts_fit(UINT64_MAX, 0, 8)); /* no offset goes so far */
	m->off = 16;
	assert_one_part(type, 16, inner);
	m->off = 17;
	assert_no_part(type);
	m->off = UINT64_MAX - 7;
	assert_no_part(type);
}

/* Types that lead to each other: there is an answer, and it comes at once. */
static void test_circles(void **state)
{
	uint32_t a = type_new("A", LAYOUT_STRUCT, 32), b = struct_with("B", type_box(a));
	uint32_t c = type_new("C", LAYOUT_STRUCT, 32), d = struct_with("D", type_box(c));

	type_member(a, "b", type_box(b), 0);
	assert_false(parts_hold(&parts, a));
	assert_false(parts_hold(&parts, b));
	type_member(c, "work", future(), 0);
	type_member(c, "d", type_box(d), 16);
	assert_true(parts_hold(&parts, c));
	assert_true(parts_hold(&parts, d));
}

/* Deeper than anybody looks: the answer is no, and comes at once. */
static void test_depth(void **state)
{
	uint32_t type = future();

	for (unsigned i = 0; i < 1000; i++)
		type = struct_with("Deeper", type);
	assert_false(parts_hold(&parts, type));
	assert_no_part(type);
}

static void test_steps(void **state)
{
	uint32_t inner = future(), pin = type_pin_box(inner);

	type_of(pin)->is_future = true; /* it passes on what it is asked */
	assert_true(parts_is_step(type_of(inner)));
	assert_true(parts_is_step(type_of(type_sleep())));
	assert_false(parts_is_step(type_of(pin)));
	assert_false(parts_is_step(type_of(struct_with("Plain", inner))));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(test_coroutine), TEST(test_owners),  TEST(test_strangers), TEST(test_poll_fn),
		TEST(test_unions),    TEST(test_enums),	  TEST(test_arrays),	TEST(test_many),
		TEST(test_fit),	      TEST(test_circles), TEST(test_depth),	TEST(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
