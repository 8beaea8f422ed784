// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where a task was spawned: what the stack told, and what the runtime itself kept. */
#include "unit.h"

#include "script.h"

enum { OWN, OTHER_OWN, FOREIGN, UNKNOWN, NR_STACKS };

static const struct trace_stack stacks[NR_STACKS] = {
	[OWN] = { "main.rs", 1, false },
	[OTHER_OWN] = { "main.rs", 2, false },
	[FOREIGN] = { "hyper.rs", 3, true },
	[UNKNOWN] = { "", 0, false },
};

#define STACK(t, th, nr)                                                 \
	{                                                                \
		.time = t, .thread = th, .kind = EV_SPAWN_STACK, .a = nr \
	}
#define PLACE(t, th, id, nr)                                                                \
	{                                                                                   \
		.time = t, .thread = th, .kind = EV_SPAWN_PLACE, .task = id, .type = ASYNC, \
		.a = nr                                                                     \
	}

static uint32_t place_of(const struct event *evs, size_t nr, uint64_t id)
{
	struct model *m = model_new(script_types, NR_TYPES);
	struct told told = { 0 };
	uint32_t stack;

	model_set_stacks(m, stacks, NR_STACKS);
	model_add_sink(m, &told_ops, &told);
	model_feed(m, evs, nr);
	model_finish(m, 1000, NULL);
	model_free(m);
	stack = told_find(&told, id)->spawn_stack;
	told_release(&told);
	return stack;
}

#define PLACE_OF(id, ...)                                           \
	({                                                          \
		static const struct event evs_[] = { __VA_ARGS__ }; \
		place_of(evs_, sizeof(evs_) / sizeof(evs_[0]), id); \
	})

/* The runtime's word counts more, unless it names a library, or nothing, and the stack does not. */
static void test_which(void **state)
{
	assert_int_equal(PLACE_OF(1, POLL(1, 0, 1)), MODEL_NO_STACK);
	assert_int_equal(PLACE_OF(1, SPAWN(1, 0, 0x1000), STACK(1, 0, OWN), POLL(2, 0, 1)), OWN);
	assert_int_equal(PLACE_OF(1, PLACE(1, 0, 1, OWN), POLL(1, 0, 1)), OWN);
	assert_int_equal(PLACE_OF(1, PLACE(1, 0, 1, FOREIGN), POLL(1, 0, 1)), FOREIGN);
	assert_int_equal(PLACE_OF(1, SPAWN(1, 0, 0x1000), STACK(1, 0, OWN),
				  PLACE(2, 0, 1, OTHER_OWN), POLL(2, 0, 1)),
			 OTHER_OWN);
	assert_int_equal(PLACE_OF(1, SPAWN(1, 0, 0x1000), STACK(1, 0, OWN), PLACE(2, 0, 1, FOREIGN),
				  POLL(2, 0, 1)),
			 OWN);
	assert_int_equal(PLACE_OF(1, SPAWN(1, 0, 0x1000), STACK(1, 0, OWN), PLACE(2, 0, 1, UNKNOWN),
				  POLL(2, 0, 1)),
			 OWN);
	assert_int_equal(PLACE_OF(1, SPAWN(1, 0, 0x1000), STACK(1, 0, UNKNOWN),
				  PLACE(2, 0, 1, FOREIGN), POLL(2, 0, 1)),
			 FOREIGN);
}

/* It is told of one task, on its thread, for its next run; also of a task that was woken before. */
static void test_whose(void **state)
{
	assert_int_equal(
		PLACE_OF(2, PLACE(1, 0, 1, OWN), POLL(1, 0, 2), END(2, 0, 0), POLL(3, 0, 1)),
		MODEL_NO_STACK);
	assert_int_equal(
		PLACE_OF(1, PLACE(1, 0, 1, OWN), POLL(1, 0, 2), END(2, 0, 0), POLL(3, 0, 1)),
		MODEL_NO_STACK);
	assert_int_equal(PLACE_OF(1, PLACE(1, 0, 1, OWN), POLL(2, 1, 1)), MODEL_NO_STACK);
	assert_int_equal(PLACE_OF(1, WAKE(1, 0, 1, 0), PLACE(2, 0, 1, OWN), POLL(2, 0, 1)), OWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
