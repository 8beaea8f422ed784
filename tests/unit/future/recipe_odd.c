// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that no types, however absurd, lead the agent out of the task, into a loop, or to a path
 * that is not there: types that the test made up, one by one and at random.
 */
#include <unistd.h>

#include "follow.h"

/* outer awaits inner, and both look as usual, but for that. */
static void check_odd(void (*change)(struct layout *inner, struct layout *outer),
		      const char *expected)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 32, 24);
	uint8_t value[32];

	type_await(inner, 20, type_sleep(), 0);
	type_await(outer, 40, inner, 8);
	memset(value, 3, sizeof(value));
	change(type_of(inner), type_of(outer));
	assert_stands(outer, value, expected);
	tear_down(NULL);
	set_up(NULL);
}

static struct layout_member *awaitee_of(struct layout *t)
{
	return (struct layout_member *)t->variants[3].members;
}

static void nothing_odd(struct layout *inner, struct layout *outer)
{
}

static void state_is_outside(struct layout *inner, struct layout *outer)
{
	inner->discr_off = 16;
}

static void state_is_far(struct layout *inner, struct layout *outer)
{
	inner->discr_off = UINT64_MAX;
}

static void state_ends_outside(struct layout *inner, struct layout *outer)
{
	inner->discr_bytes = 8;
	inner->discr_off = 12;
}

static void state_is_missing(struct layout *inner, struct layout *outer)
{
	inner->discr_bytes = 0;
}

static void state_has_three_bytes(struct layout *inner, struct layout *outer)
{
	inner->discr_bytes = 3;
}

static void state_is_split(struct layout *inner, struct layout *outer)
{
	inner->discr_bytes = 4;
	inner->discr_off = 6;
}

static void awaitee_is_outside(struct layout *inner, struct layout *outer)
{
	awaitee_of(outer)->off = 24;
}

static void awaitee_is_far(struct layout *inner, struct layout *outer)
{
	awaitee_of(outer)->off = UINT64_MAX - 7;
}

static void awaitee_is_larger(struct layout *inner, struct layout *outer)
{
	inner->size_bytes = UINT64_MAX - 8;
}

static void awaitee_is_itself(struct layout *inner, struct layout *outer)
{
	*awaitee_of(inner) = (struct layout_member){ "__awaitee", awaitee_of(outer)->type, 0 };
}

static void awaitee_has_no_type(struct layout *inner, struct layout *outer)
{
	awaitee_of(outer)->type = LAYOUT_NONE;
}

static void awaitee_has_no_number(struct layout *inner, struct layout *outer)
{
	((struct layout_variant *)outer->variants)[3].awaitee = 7;
}

static void size_is_absurd(struct layout *inner, struct layout *outer)
{
	outer->size_bytes = UINT64_MAX;
}

static void values_are_absurd(struct layout *inner, struct layout *outer)
{
	((struct layout_variant *)inner->variants)[0].value = UINT64_MAX;
	((struct layout_variant *)inner->variants)[1].is_default = true;
	((struct layout_variant *)inner->variants)[2].is_default = true;
}

static void test_odd(void **state)
{
	check_odd(nothing_odd, "0 outer:40, 1 inner:20, 2 sleep");
	check_odd(state_is_outside, "0 outer:40, 1 inner");
	check_odd(state_is_far, "0 outer:40, 1 inner");
	check_odd(state_ends_outside, "0 outer:40, 1 inner");
	check_odd(state_is_missing, "0 outer:40, 1 inner");
	check_odd(state_has_three_bytes, "0 outer:40, 1 inner");
	check_odd(state_is_split, "0 outer:40, 1 inner");
	check_odd(awaitee_is_outside, "0 outer:40");
	check_odd(awaitee_is_far, "0 outer:40");
	check_odd(awaitee_is_larger, "0 outer:40");
	check_odd(awaitee_is_itself, ""); /* too many of them */
	check_odd(awaitee_has_no_type, "0 outer:40, 1 ");
	check_odd(awaitee_has_no_number, "0 outer:40");
	check_odd(size_is_absurd, "");
	check_odd(values_are_absurd, "0 outer:40, 1 inner:20, 2 sleep");
}

static void test_odd_pointers(void **state)
{
	uint32_t inner = type_async("inner", 16, 8), outer = type_async("outer", 16, 8);
	uint32_t half = type_box(inner), flat = type_dyn(), far = type_dyn();
	uint64_t value[2] = { 0x10, 0 };

	type_await(inner, 20, type_sleep(), 0);
	type_of(half)->size_bytes = 4; /* of which we would read eight */
	type_of(flat)->size_bytes = 8;
	((struct layout_member *)type_of(far)->members)[1].off = UINT64_MAX - 3;
	type_await(outer, 40, half, 0);
	type_await(outer, 41, flat, 0);
	type_await(outer, 42, far, 0);
	value[1] = 3;
	assert_stands(outer, value, "0 outer:40, 1 inner");
	value[1] = 4;
	assert_stands(outer, value, "0 outer:41");
	value[1] = 5;
	assert_stands(outer, value, "0 outer:42");
}

/* Each level has the one below twice: 2^60 values that no choice leads through. */
static void test_doubling(void **state)
{
	uint32_t last = type_sleep(), outer = type_async("outer", 16, 8), edge, choice;
	struct recipe_steps steps = { 0 };

	type_of(last)->size_bytes = 0;
	for (unsigned i = 0; i < 60; i++) {
		uint32_t two = type_new("two", LAYOUT_STRUCT, 0);

		type_member(two, "__0", last, 0);
		type_member(two, "__1", last, 0);
		last = two;
	}
	choice = type_await(outer, 40, last, 0);
	edge = compile(outer);
	choice += recipes.nodes.v[recipes.edges.v[edge].node].first;
	recipes_describe(&recipes);
	assert_false(recipe_explain(&recipes, edge, &choice, 1, &steps));
	vec_release(&steps.steps);
}

/* ---- budgets ---- */

static void test_full(void **state)
{
	uint32_t sleep = type_sleep(), first = type_async("first", 16, 8), edge = 1, nr = 0;
	uint8_t value[16] = { 0 };

	type_await(first, 5, sleep, 0);
	value[8] = 3;
	assert_stands(first, value, "0 first:5, 1 sleep");
	for (; edge && nr < WIRE_MAX_NODES + 16; nr++) {
		uint32_t f = type_async("f", 16, 8);

		type_await(f, 1, sleep, 0);
		edge = compile(f);
	}
	assert_int_equal(edge, 0);
	assert_true(recipes.nodes.nr <= WIRE_MAX_NODES && recipes.edges.nr <= WIRE_MAX_EDGES);
	assert_int_equal(recipes.edges.nr, recipes.meanings.nr);
	assert_true(nr > 1000);
	/* what was made before is as good as it was */
	assert_stands(first, value, "0 first:5, 1 sleep");
}

static void test_many_variants(void **state)
{
	uint32_t f = type_async("f", 16, 8);

	for (unsigned i = 0; i < UINT16_MAX; i++)
		type_await(f, 1, LAYOUT_NONE, 0);
	assert_int_equal(compile(f), 0);
}

/* ---- whatever types there are ---- */

#define NR_GRAPHS 400
#define NR_TYPES  24
#define MAX_BYTES 256

/* Often sound, sometimes a little too much, seldom absurd. */
static uint64_t random_off(uint64_t *seed, uint64_t bytes)
{
	uint64_t kind = unit_random(seed) % 32;

	if (kind == 0)
		return unit_random(seed);
	return unit_random(seed) % (bytes + (kind < 4 ? 16 : 1)) & ~UINT64_C(7);
}

static uint32_t random_type(uint64_t *seed, uint32_t nr)
{
	uint64_t bytes = unit_random(seed) % MAX_BYTES, kind = unit_random(seed) % 4;
	uint32_t type, some = 1 + unit_random(seed) % 4;

	if (kind == 0) {
		type = type_async("async", bytes, random_off(seed, bytes));
		for (uint32_t i = 0; i < some; i++)
			type_await(type, i, unit_random(seed) % nr, random_off(seed, bytes));
		return type;
	}
	type = type_new(kind == 1 ? "Struct" : "Enum", kind == 1 ? LAYOUT_STRUCT : LAYOUT_ENUM,
			bytes);
	type_of(type)->discr_off = random_off(seed, bytes);
	type_of(type)->discr_bytes = 1 << unit_random(seed) % 4;
	for (uint32_t i = 0; i < some; i++) {
		uint32_t member = unit_random(seed) % nr;

		if (kind == 1)
			type_member(type, "m", member, random_off(seed, bytes));
		else
			type_variant_member(type, type_variant(type, "V", i), "m", member,
					    random_off(seed, bytes));
	}
	return type;
}

/* Behind each value lies memory that must not be read; stand() says that each path fits. */
static void test_random(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = 20240607, nr_stood = 0;

	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	for (unsigned i = 0; i < NR_GRAPHS; i++) {
		uint32_t nr = 1 + NR_TYPES, last;

		type_sleep();
		for (uint32_t k = 0; k < NR_TYPES; k++)
			last = random_type(&seed, nr); /* of those that are yet to come, too */
		for (size_t k = 0; k < page; k++)
			pages[k] = unit_random(&seed) % 6;
		for (uint32_t k = 0; k < 4; k++) {
			uint64_t bytes = (type_of(last - k)->size_bytes + 7) & ~UINT64_C(7);
			char *text = stand(last - k, pages + page - bytes);

			nr_stood += *text != 0;
			free(text);
		}
		tear_down(NULL);
		set_up(NULL);
	}
	assert_true(nr_stood > NR_GRAPHS / 2);
	munmap(pages, 2 * page);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_odd),	 TEST(test_odd_pointers),  TEST(test_doubling),
		TEST(test_full), TEST(test_many_variants), TEST(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
