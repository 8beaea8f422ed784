// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that the names of leaves are the kinds' own, and what they and futures tell of waits. */
#include "unit.h"

#include "base/future_name.h"
#include "base/leaf_kind.h"

static void test_names(void **state)
{
	for (unsigned i = 0; i < NR_LEAF_KINDS; i++)
		assert_int_equal(leaf_kind_named(leaf_kind_name(i)), i);
	assert_int_equal(leaf_kind_named(NULL), LEAF_KIND_NONE);
	assert_int_equal(leaf_kind_named("mutexes"), LEAF_KIND_NONE);
	assert_int_equal(leaf_kind_named("mute"), LEAF_KIND_NONE);
	assert_string_equal(leaf_kind_name(NR_LEAF_KINDS), "");
}

static void test_traits(void **state)
{
	unsigned nr_locks = 0;

	for (unsigned i = 0; i < NR_LEAF_KINDS; i++)
		nr_locks += leaf_traits(i)->is_lock;
	assert_int_equal(nr_locks, 2);
	assert_true(leaf_traits(LEAF_KIND_MUTEX)->is_lock &&
		    leaf_traits(LEAF_KIND_RWLOCK)->is_lock);
	assert_int_equal(leaf_traits(LEAF_KIND_SLEEP)->ended_by, LEAF_ENDED_BY_DRIVER);
	assert_int_equal(leaf_traits(LEAF_KIND_JOIN)->ended_by, LEAF_ENDED_BY_OTHERS);
	assert_int_equal(leaf_traits(LEAF_KIND_NONE)->ended_by, LEAF_ENDED_BY_ANYONE);
	assert_int_equal(leaf_traits(LEAF_KIND_OTHER)->ended_by, LEAF_ENDED_BY_ANYONE);
	assert_true(leaf_traits(LEAF_KIND_MPSC)->is_once);
	assert_false(leaf_traits(LEAF_KIND_SOCKET)->is_once);
}

static void test_futures(void **state)
{
	assert_true(future_name_traits("futures_util::future::join_all::JoinAll<F>") &
		    FUTURE_JOINS);
	assert_false(future_name_traits("app::Race<A, B>") & FUTURE_JOINS);
	assert_true(future_name_traits("core::future::poll_fn::PollFn<F>") & FUTURE_IS_POLL_FN);
	assert_true(future_name_traits("tokio::sync::mpsc::recv") & FUTURE_IS_ONE_WAIT);
	assert_false(future_name_traits("app::of<tokio::sync::mpsc::recv>") & FUTURE_IS_ONE_WAIT);
	assert_true(future_name_traits("futures_util::future::MaybeDone<F>") & FUTURE_KEEPS_DONE);
	assert_true(future_name_traits("core::future::pending::Pending<()>") & FUTURE_IS_PENDING);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_traits),
		cmocka_unit_test(test_futures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
