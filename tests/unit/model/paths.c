// SPDX-License-Identifier: MIT OR Apache-2.0
/* Each run is told with the path that its own start had, also where runs nest, overlap or drop. */
#include "unit.h"

#include "script.h"

static const uint32_t steps[] = { 0 };
static const struct trace_path paths[] = { { NULL, 0 }, { steps, 1 }, { NULL, 0 }, { steps, 1 } };

#define AT(t, th, id, path_)                                                                    \
	{                                                                                       \
		.time = t, .thread = th, .kind = EV_RUN_START, .task = id, .addr = 0x1000 * id, \
		.path = path_                                                                   \
	}

static void play_paths(struct told *told, const struct event *evs, size_t nr)
{
	struct model *m = model_new(script_types, NR_TYPES);

	*told = (struct told){ 0 };
	model_set_paths(m, paths, ARRAY_SIZE(paths));
	model_add_sink(m, &told_ops, told);
	model_feed(m, evs, nr);
	model_finish(m, 1000, NULL);
	model_free(m);
}

/* 0, a number that nobody defined and one beyond all are not known. */
static void test_known(void **state)
{
	static const struct event evs[] = {
		AT(1, 0, 1, 1), END(2, 0, 0),	AT(3, 0, 1, 3), END(4, 0, 0),	    AT(5, 0, 1, 2),
		END(6, 0, 0),	AT(7, 0, 1, 0), END(8, 0, 0),	AT(9, 0, 1, 65535), END(10, 0, 0),
	};
	static const uint32_t want[] = { 1, 3, MODEL_NO_PATH, MODEL_NO_PATH, MODEL_NO_PATH };
	struct told told;

	play_paths(&told, evs, ARRAY_SIZE(evs));
	assert_int_equal(told.runs.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(told.runs.v[i].path, want[i]);
	told_release(&told);
}

/* A run inside another, and one that begins before the end of the one before it was stamped. */
static void test_whose(void **state)
{
	static const struct event evs[] = {
		AT(1, 0, 1, 1), AT(2, 0, 2, 3), END(3, 0, 0),
		AT(4, 1, 1, 3), END(5, 0, 0),	END(6, 1, 0),
	};
	struct told told;

	play_paths(&told, evs, ARRAY_SIZE(evs));
	assert_int_equal(told.runs.nr, 3);
	assert_int_equal(told.runs.v[0].path, 3);
	assert_int_equal(told.runs.v[1].path, 1);
	assert_int_equal(told.runs.v[1].end_ns, 4);
	assert_int_equal(told.runs.v[2].path, 3);
	told_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
