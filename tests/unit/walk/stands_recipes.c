// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that a task is told with the choices of its recipe, whatever that is made of, and not at
 * all if its memory is not as the recipe says.
 */
#include "stands_world.h"

/* An enum whose tag is four bytes in the upper half of a word, with and without a variant for all
 * other numbers; and one whose tag is eight bytes, as where a pointer has a niche. */
static void test_cases(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_FORK, .nr = 3, .first = 2 },
		{ .kind = WIRE_NODE_CASE, .bytes = 4, .off = 4, .nr = 2, .first = 5 },
		{ .kind = WIRE_NODE_CASE, .bytes = 4, .off = 4, .nr = 3, .first = 7, .other = 1 },
		{ .kind = WIRE_NODE_CASE, .bytes = 8, .nr = 2, .first = 10, .other = 1 },
	};
	static const struct wire_edge edges[] = {
		{ 0 },
		{ .off = FUTURE, .node = 1 },
		{ .off = 0, .node = 2 },
		{ .off = 8, .node = 3 },
		{ .off = 16, .node = 4 },
		{ .value = 5 },
		{ .value = 0xffffffff },
		{ .value = 5 },
		{ .value = 6 },
		{ .value = 7 }, /* says nothing: it is for all others */
		{ .value = 0 },
		{ .value = 0 },
	};
	static const struct {
		uint64_t first, second, third;
		uint32_t choices[3];
	} cases[] = {
		{ 5, 5, 0, { 5, 7, 10 } },
		{ 0xffffffff, 6, 1, { 6, 8, 11 } },
		{ 5, 7, UINT64_C(1) << 63, { 5, 9, 11 } },
		{ 5, 0, 0, { 5, 9, 10 } },
		{ 6, 5, 0, { 0 } }, /* none of ours */
		{ 0, 5, 0, { 0 } },
	};
	struct world w;

	WORLD_INIT(&w, nodes, edges);
	for (uint64_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t addr = HEAP + 0x100 * (i + 1);

		put_idle(&w, addr, i + 1, cases[i].first << 32 | 0x55555555);
		fake_put(w.f, addr + FUTURE + 8, cases[i].second << 32 | 0x55555555);
		fake_put(w.f, addr + FUTURE + 16, cases[i].third);
	}
	look(&w);
	for (uint64_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (cases[i].choices[0])
			check(&w, i + 1, cases[i].choices, 3);
		else
			assert_null(find(&w, i + 1));
	world_release(&w);
}

/* What is boxed, twice over. */
static void test_boxes(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_DEREF, .off = 8, .nr = 1, .first = 2 },
		{ .kind = WIRE_NODE_DEREF, .off = 16, .nr = 1, .first = 3 },
		{ .kind = WIRE_NODE_STATE, .bytes = 2, .off = 2, .nr = 300, .first = 4 },
	};
	static const uint64_t bad[] = {
		0, 8, 1, HEAP - 64, HEAP + LENGTH, HEAP + LENGTH - 16, UINT64_MAX - 64
	};
	struct wire_edge edges[304] = {
		{ 0 }, { .off = FUTURE, .node = 1 }, { .node = 2 }, { .off = 24, .node = 3 }
	};
	const uint64_t box = HEAP + 0x8000, inner = HEAP + 0x9ff0;
	struct world w;

	WORLD_INIT(&w, nodes, edges);
	put_idle(&w, HEAP + 0x100, 1, 0);
	fake_put(w.f, HEAP + 0x100 + FUTURE + 8, box);
	fake_put(w.f, box + 16, inner);
	fake_put(w.f, inner + 24, UINT64_C(299) << 16 | UINT64_C(1) << 32 | 1);
	look(&w);
	CHECK(&w, 1, 4 + 299);
	fake_put(w.f, inner + 24, UINT64_C(300) << 16);
	look(&w);
	assert_int_equal(w.s.list.nr, 0);
	fake_put(w.f, inner + 24, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		fake_put(w.f, HEAP + 0x100 + FUTURE + 8, bad[i]);
		look(&w);
		assert_int_equal(w.s.list.nr, 0);
		fake_put(w.f, HEAP + 0x100 + FUTURE + 8, box);
		fake_put(w.f, box + 16, bad[i]);
		look(&w);
		assert_int_equal(w.s.list.nr, 0);
		fake_put(w.f, box + 16, inner);
	}
	look(&w);
	CHECK(&w, 1, 4);
	fake_put(w.f, box + 16, HEAP + LENGTH - 32); /* up to the end of what can be read */
	fake_put(w.f, HEAP + LENGTH - 8, 1 << 16);
	look(&w);
	CHECK(&w, 1, 4 + 1);
	world_release(&w);
}

/* A trait object is what its table says; of one that nobody knows, nothing inside is told. */
static void test_dyns(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_FORK, .nr = 2, .first = 2 },
		{ .kind = WIRE_NODE_DYN, .off = 0, .other = 8 },
		{ .kind = WIRE_NODE_STATE, .bytes = 1, .nr = 4, .first = 5 },
	};
	static const struct wire_edge edges[] = {
		{ 0 },
		{ .off = FUTURE, .node = 1 },
		{ .off = 0, .node = 2 },
		{ .off = 16, .node = 3 },
		{ .off = 8, .node = 3 }, /* behind the table */
		{ 0 },
		{ 0 },
		{ 0 },
		{ 0 },
	};
	const uint64_t task = HEAP + 0x100, data = HEAP + 0x8000;
	struct world w;

	WORLD_INIT(&w, nodes, edges);
	*map_put(&w.s.dyns, 0x600010, NULL) = 4;
	*map_put(&w.s.dyns, 0x600020, NULL) = 0; /* the agent has forgotten it */
	put_idle(&w, task, 1, data);
	fake_put(w.f, task + FUTURE + 8, 0x600010);
	fake_put(w.f, task + FUTURE + 16, 3);
	fake_put(w.f, data + 8, 2);
	look(&w);
	CHECK(&w, 1, 4, 5 + 2, 5 + 3);
	for (uint64_t table = 0x600020; table <= 0x600030; table += 0x10) {
		fake_put(w.f, task + FUTURE + 8, table);
		look(&w);
		CHECK(&w, 1, 0, 5 + 3);
	}
	fake_put(w.f, task + FUTURE, 0);
	look(&w);
	assert_int_equal(w.s.list.nr, 0);
	fake_put(w.f, task + FUTURE + 8, 0x600010);
	fake_put(w.f, task + FUTURE, 0x10);
	look(&w);
	assert_int_equal(w.s.list.nr, 0);
	world_release(&w);
}

/* The branches of a fork, each from where the fork is, before those of the one around it. */
static void test_forks(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_FORK, .nr = 3, .first = 2 },
		{ .kind = WIRE_NODE_FORK, .nr = 2, .first = 5 },
		{ .kind = WIRE_NODE_FORK, .nr = 1, .first = 7 },
		{ .kind = WIRE_NODE_STATE, .bytes = 1, .nr = 9, .first = 8 },
	};
	static const struct wire_edge edges[17] = {
		{ 0 },
		{ .off = FUTURE, .node = 1 },
		{ .off = 8, .node = 4 },
		{ .off = 16, .node = 2 },
		{ .off = 40, .node = 3 },
		{ .off = 8, .node = 4 },
		{ .off = 16, .node = 4 },
		{ .off = 0, .node = 4 },
	};
	const uint64_t future = HEAP + 0x100 + FUTURE;
	struct world w;

	WORLD_INIT(&w, nodes, edges);
	put_idle(&w, HEAP + 0x100, 1, 8);
	for (uint64_t i = 1; i < 6; i++)
		fake_put(w.f, future + 8 * i, i);
	look(&w);
	CHECK(&w, 1, 8 + 1, 8 + 3, 8 + 4, 8 + 5);
	fake_put(w.f, future + 32, 9); /* the last branch but one */
	look(&w);
	assert_int_equal(w.s.list.nr, 0);
	world_release(&w);
}

/* As many forks inside of each other as the agent takes, and one more. */
static void test_too_many_forks(void **state)
{
	enum { MAX = 8 };
	struct wire_node nodes[MAX + 3] = {
		{ 0 }, { .kind = WIRE_NODE_STATE, .bytes = 1, .nr = 1, .first = 2 }
	};
	struct wire_edge edges[3 + 2 * (MAX + 1)] = { { 0 } };
	struct world w;

	/* the first branch of each is the next fork, the last one's a state */
	for (unsigned i = 0; i <= MAX; i++) {
		nodes[2 + i] =
			(struct wire_node){ .kind = WIRE_NODE_FORK, .nr = 2, .first = 3 + 2 * i };
		edges[3 + 2 * i].node = i < MAX ? 3 + i : 1;
		edges[4 + 2 * i].node = 1;
	}
	for (unsigned first = 2; first <= 3; first++) {
		edges[1] = (struct wire_edge){ .off = FUTURE, .node = first };
		WORLD_INIT(&w, nodes, edges);
		put_idle(&w, HEAP + 0x100, 1, 0);
		look(&w);
		assert_int_equal(w.s.list.nr, first - 2);
		if (w.s.list.nr)
			CHECK(&w, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2);
		world_release(&w);
	}
}

/* A list that leads in a circle: what is deeper than paths go is left out. */
static void test_circle(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_STATE, .bytes = 1, .nr = 2, .first = 2 },
		{ .kind = WIRE_NODE_DEREF, .off = 8, .nr = 1, .first = 4 },
	};
	static const struct wire_edge edges[] = {
		{ 0 }, { .off = FUTURE, .node = 1 }, { 0 }, { .node = 2 }, { .node = 1 },
	};
	uint32_t choices[WIRE_MAX_CHOICES];
	const uint64_t future = HEAP + 0x100 + FUTURE;
	struct world w;

	for (unsigned i = 0; i < WIRE_MAX_CHOICES; i++)
		choices[i] = 3;
	WORLD_INIT(&w, nodes, edges);
	put_idle(&w, HEAP + 0x100, 1, 1);
	fake_put(w.f, future + 8, future);
	look(&w);
	check(&w, 1, choices, WIRE_MAX_CHOICES);
	world_release(&w);
}

/* As many steps as the agent takes, with the end, and one more: a circle without choices has no
 * end. */
static void test_long_way(void **state)
{
	enum { MAX = 512 };
	struct wire_node nodes[MAX + 1] = { { 0 } };
	struct wire_edge edges[MAX + 2] = { { 0 }, { .off = FUTURE, .node = 1 } };
	const uint64_t future = HEAP + 0x100 + FUTURE;
	struct world w;

	for (unsigned nr = MAX - 1; nr <= MAX; nr++) {
		for (unsigned i = 1; i <= nr; i++) {
			nodes[i] = (struct wire_node){ .kind = WIRE_NODE_DEREF,
						       .nr = 1,
						       .first = i + 1 };
			edges[i + 1].node = i < nr ? i + 1 : 0;
		}
		WORLD_INIT(&w, nodes, edges);
		put_idle(&w, HEAP + 0x100, 1, future);
		look(&w);
		assert_int_equal(w.s.list.nr, nr < MAX);
		world_release(&w);
	}
}

/* A recipe that chooses nothing, and one that ends at once. */
static void test_short_recipes(void **state)
{
	static const struct wire_node nodes[] = {
		{ 0 },
		{ .kind = WIRE_NODE_DEREF, .nr = 1, .first = 0 },
	};
	static const struct wire_edge edges[] = { { 0 }, { .off = FUTURE, .node = 1 } };
	static const struct wire_edge at_once[] = { { 0 }, { .off = 1 << 20, .node = 0 } };
	struct world w;

	WORLD_INIT(&w, nodes, edges);
	put_idle(&w, HEAP + 0x100, 1, HEAP);
	put_idle(&w, HEAP + 0x200, 2, 0);
	look(&w);
	assert_int_equal(w.s.list.nr, 1);
	check(&w, 1, NULL, 0);
	world_release(&w);
	WORLD_INIT(&w, nodes, at_once);
	put_idle(&w, HEAP + 0x100, 1, 0);
	look(&w);
	check(&w, 1, NULL, 0);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	       cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_dyns),	       cmocka_unit_test(test_forks),
		cmocka_unit_test(test_too_many_forks), cmocka_unit_test(test_circle),
		cmocka_unit_test(test_long_way),       cmocka_unit_test(test_short_recipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
