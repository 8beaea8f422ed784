// SPDX-License-Identifier: MIT OR Apache-2.0
/* Whose future a function that waits for a root holds, as its type arguments have it. */
#include "types.h"

#include "future/root_frames.h"

static const struct root_shape entry = { "enter_runtime", "F", "::block_on", .is_entry = true };

static uint32_t future_in(const char *closure)
{
	return root_future_of(NULL, &entry, type_new(closure, LAYOUT_STRUCT, 8));
}

/* The future is an argument of block_on's own closure; other closures have that among theirs. */
static void test_closure(void **state)
{
	uint32_t future = type_new("app::main::{async_block_env#0}", LAYOUT_COROUTINE, 8);

	type_new("()", LAYOUT_STRUCT, 0);
	assert_int_equal(future_in("tokio::multi_thread::{impl#0}::block_on::{closure_env#0}<"
				   "app::main::{async_block_env#0}>"),
			 future);
	assert_int_equal(future_in("tokio::enter_runtime::{closure_env#0}<tokio::multi_thread::"
				   "{impl#0}::block_on::{closure_env#0}<app::main::"
				   "{async_block_env#0}>, ()>"),
			 LAYOUT_NONE);
	types_release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
