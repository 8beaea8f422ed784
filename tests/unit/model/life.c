// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks without ids, named by their addresses, are told apart and get numbers. */
#include "unit.h"

#include "script.h"

#define RUN(t, th, ad, fl) START_AT(t, th, ad, OTHER_COPY, ad, fl)
#define USE(t, th, ad, fl) WAKE_TYPE(t, th, ad, OTHER_COPY, fl)
#define TRIED		   EF_WAKE_TRIED

static enum model_end end_of(struct told *told, uint64_t id)
{
	const struct model_task *t = told_find(told, id);

	assert_non_null(t);
	return t->end;
}

/* An address is used three times: after an end, a cancellation, and by a run that says nothing. */
static void test_address_comes_again(void **state)
{
	struct told told;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, COMPLETE), RUN(21, 1, 0x80, EF_RUN_DROP),
	     END(22, 1, COMPLETE), SPAWN(30, 0, 0x80), RUN(40, 0, 0x80, 0), END(50, 0, 0),
	     RUN(60, 0, 0x90, 0), END(61, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 4);
	assert_int_equal(end_of(&told, 1), MODEL_COMPLETED);
	assert_int_equal(end_of(&told, 2), MODEL_CANCELLED);
	assert_int_equal(end_of(&told, 3), MODEL_ALIVE);
	assert_int_equal(end_of(&told, 4), MODEL_COMPLETED);
	assert_false(told_find(&told, 2)->spawn_exact);
	assert_true(told_find(&told, 3)->spawn_exact);
	told_release(&told);
}

/* A parent is named by its number, and so is whoever wakes. */
static void test_numbers_everywhere(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, RUN(1, 0, 0x70, 0), END(2, 0, COMPLETE), RUN(10, 0, 0x80, 0),
	     SPAWN(12, 0, 0x90), END(20, 0, 0), RUN(30, 1, 0x90, 0), USE(35, 1, 0x80, TRIED),
	     END(40, 1, COMPLETE), RUN(50, 0, 0x80, 0), END(60, 0, COMPLETE));
	t = told_find(&told, 3);
	assert_true(t->has_parent);
	assert_int_equal(t->parent.id, 2);
	assert_int_equal(told_find(&told, 2)->wakes[MODEL_BY_TASK], 1);
	assert_int_equal(told.wakers.v[0].key.id, 3);
	assert_int_equal(told.woken.v[0].id, 2);
	told_release(&told);
}

/* Of wakers that try at once one counts; one that comes too late is none, and no life either. */
static void test_tries(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, 0), USE(30, 1, 0x80, TRIED),
	     USE(31, 2, 0x80, TRIED), RUN(40, 0, 0x80, 0), USE(41, 2, 0x80, TRIED), END(50, 0, 0),
	     USE(60, 1, 0x80, TRIED), RUN(70, 0, 0x80, 0), END(80, 0, COMPLETE),
	     USE(90, 1, 0x80, TRIED));
	assert_int_equal(told.tasks.nr, 1);
	t = told_find(&told, 1);
	assert_int_equal(t->wakes[MODEL_BY_THREAD], 2);
	assert_int_equal(t->ns[MODEL_IDLE], 10 + 10);
	assert_int_equal(told.wakes.nr, 2);
	told_release(&told);

	/* stamped before the end of the run that let the task go: the run that follows is its */
	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), USE(19, 1, 0x80, TRIED), END(20, 0, 0),
	     RUN(30, 0, 0x80, 0), END(40, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_int_equal(t->wakes[MODEL_BY_THREAD], 1);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 0);
	told_release(&told);
}

/* Dropped from a queue: what woke itself before was queued; and it counts as dropped. */
static void test_dropped_from_queue(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, EF_END_NOTIFIED),
	     RUN(50, 0, 0x80, EF_RUN_DROP | EF_RUN_SHUTDOWN), END(60, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 1);
	assert_int_equal(t->ns[MODEL_SCHEDULED], 30);
	told_release(&told);
}

/* A task that is queued may be put into another queue: no new life. After a loss it may be one. */
static void test_queued_again(void **state)
{
	struct told told;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, 0), USE(30, 1, 0x80, TRIED),
	     SPAWN(31, 1, 0x80), RUN(40, 0, 0x80, 0), END(50, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 1);
	told_release(&told);

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, 0), LOST(25, 0, RUN_START, 1),
	     SPAWN(31, 1, 0x80), RUN(40, 0, 0x80, 0), END(50, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_true(told_find(&told, 2)->spawn_exact);
	told_release(&told);
}

/* A task that was over while it was queued runs once more: that is no life, and takes no number. */
static void test_finished_in_queue(void **state)
{
	struct told told;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, EF_END_NOTIFIED),
	     RUN(30, 1, 0x80, EF_RUN_SHUTDOWN), END(40, 1, COMPLETE),
	     RUN(50, 0, 0x80, EF_RUN_FINISHED), END(60, 0, COMPLETE), RUN(70, 0, 0x80, 0),
	     END(80, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_int_equal(end_of(&told, 1), MODEL_DROPPED);
	assert_int_equal(end_of(&told, 2), MODEL_COMPLETED);
	told_release(&told);
}

/* Also while the end of the run that queued it is still to be stamped, and when it woke itself. */
static void test_queued_again_by_itself(void **state)
{
	struct told told;

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, EF_END_NOTIFIED), SPAWN(31, 1, 0x80),
	     RUN(40, 0, 0x80, 0), END(50, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 1);
	assert_int_equal(told_find(&told, 1)->wakes[MODEL_BY_SELF], 1);
	told_release(&told);

	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), SPAWN(19, 1, 0x80), END(20, 0, EF_END_NOTIFIED),
	     RUN(40, 0, 0x80, 0), END(50, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 1);
	told_release(&told);

	/* nor is the stack of that call another's, spawned by the same thread at the same time */
	PLAY(&told, 1000, RUN(10, 0, 0x80, 0), END(20, 0, EF_END_NOTIFIED), SPAWN(31, 1, 0x90),
	     SPAWN(31, 1, 0x80), { .time = 31, .thread = 1, .kind = EV_SPAWN_STACK, .a = 7 },
	     RUN(40, 0, 0x90, 0), END(50, 0, COMPLETE));
	assert_true(told_find(&told, 2)->spawn_exact);
	assert_int_equal(told_find(&told, 2)->spawn_stack, MODEL_NO_STACK);
	told_release(&told);
}

/* The memory of a task that is dropped may be another's before the run that drops it is over. */
static void test_dropped_memory_is_used_at_once(void **state)
{
	struct told told;

	PLAY(&told, 1000, RUN(10, 0, 0x80, EF_RUN_DROP), RUN(15, 1, 0x80, 0), END(20, 0, COMPLETE),
	     END(30, 1, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_int_equal(end_of(&told, 1), MODEL_CANCELLED);
	assert_int_equal(end_of(&told, 2), MODEL_COMPLETED);
	told_release(&told);

	PLAY(&told, 1000, RUN(10, 0, 0x80, EF_RUN_DROP), SPAWN(15, 1, 0x80), END(20, 0, COMPLETE),
	     RUN(25, 1, 0x80, 0), END(30, 1, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_true(told_find(&told, 2)->spawn_exact);
	told_release(&told);
}

/* A task keeps its type: what runs there with another one is another, whose birth was lost. */
static void test_another_type(void **state)
{
	struct told told;

	PLAY(&told, 1000, START_AT(10, 0, 0x80, LOCAL, 0x80, 0), END(20, 0, 0),
	     LOST(25, 0, RUN_START, 1), START_AT(30, 0, 0x80, ASYNC, 0x80, 0),
	     END(40, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_int_equal(end_of(&told, 1), MODEL_ALIVE);
	assert_int_equal(end_of(&told, 2), MODEL_COMPLETED);
	told_release(&told);
}

/* The first run was lost: an abort tells of no task yet, and no address becomes an id. */
static void test_woken_before_any_run(void **state)
{
	struct told told;

	PLAY(&told, 1000, LOST(10, 0, RUN_START, 1), USE(20, 0, 0x5555000010, EF_WAKE_ABORT),
	     WAKE(25, 0, 7, 0), RUN(30, 0, 0x5555000010, EF_RUN_DROP), END(40, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_int_equal(end_of(&told, 1), MODEL_CANCELLED);
	assert_int_equal(end_of(&told, 7), MODEL_ALIVE);
	told_release(&told);
}

#define OWN(t, th, ad, ty) START_AT(t, th, ad, ty, ad, 0)
#define NUMBER(t, th, ad, n)                                                          \
	{                                                                             \
		.time = t, .thread = th, .kind = EV_TASK_NUMBER, .task = ad, .a = (n) \
	}
/* Sixteen bytes, as two numbers. */
#define ABCDEFGH UINT64_C(0x6867666564636261)
#define NAME(t, th, ad, lo, hi, fl)                                                          \
	{                                                                                    \
		.time = t, .thread = th, .kind = EV_TASK_NAME, .task = ad, .a = lo, .b = hi, \
		.flags = fl                                                                  \
	}

/* The runtime's ids and names; what has none is numbered out of their way. */
static void test_own_ids(void **state)
{
	const uint64_t ours = MODEL_FIRST_NUMBER;
	struct told told;

	PLAY(&told, 1000, OWN(5, 0, 0x70, UNNUMBERED), END(6, 0, COMPLETE), NUMBER(10, 0, 0x80, 7),
	     NAME(10, 0, 0x80, ABCDEFGH, 0x6a69, 0), OWN(10, 0, 0x80, NUMBERED),
	     END(20, 0, COMPLETE),
	     /* its memory is used again, and told of again later */
	     NUMBER(30, 1, 0x80, 3), OWN(30, 1, 0x80, NUMBERED), END(35, 1, 0),
	     NUMBER(40, 0, 0x80, 3), NAME(40, 0, 0x80, ABCDEFGH, ABCDEFGH, EF_NAME_MORE),
	     NAME(40, 0, 0x80, ABCDEFGH, 0xc3 + (ABCDEFGH << 8), EF_NAME_MORE),
	     OWN(40, 0, 0x80, NUMBERED), END(45, 0, COMPLETE));
	assert_int_equal(told.tasks.nr, 3);
	assert_null(told_find(&told, ours)->name);
	assert_string_equal(told_find(&told, 7)->name, "abcdefghij");
	assert_int_equal(told_find(&told, 3)->polls, 2);
	told_release(&told);
}

/* What was told of another task, what was lost, and what cannot be are not believed. */
static void test_doubtful_ids(void **state)
{
	const uint64_t ours = MODEL_FIRST_NUMBER;
	struct told told;

	PLAY(&told, 1000, NUMBER(10, 0, 0x90, 7), NAME(10, 0, 0x90, ABCDEFGH, 0, 0),
	     OWN(10, 0, 0x80, NUMBERED), END(20, 0, 0), OWN(21, 0, 0x90, NUMBERED), END(22, 0, 0),
	     NUMBER(30, 0, 0xa0, 5), OWN(30, 0, 0xa0, NUMBERED), END(31, 0, 0),
	     NUMBER(40, 0, 0xb0, 5), OWN(40, 0, 0xb0, NUMBERED), END(41, 0, 0),
	     NUMBER(50, 0, 0xc0, 0), OWN(50, 0, 0xc0, NUMBERED), END(51, 0, 0),
	     NUMBER(60, 0, 0xd0, ours), OWN(60, 0, 0xd0, NUMBERED), END(61, 0, 0));
	assert_int_equal(told.tasks.nr, 6);
	for (unsigned i = 0; i < 5; i++)
		assert_null(told_find(&told, ours + i)->name);
	assert_int_equal(told_find(&told, 5)->polls, 1);
	told_release(&told);
}

/* A name that was cut, in the middle of a character. */
static void test_cut_name(void **state)
{
	struct told told;

	PLAY(&told, 1000, NUMBER(10, 0, 0x80, 3),
	     NAME(10, 0, 0x80, ABCDEFGH, ABCDEFGH, EF_NAME_MORE),
	     NAME(10, 0, 0x80, ABCDEFGH, UINT64_C(0xe4) << 56 | ABCDEFGH >> 8, EF_NAME_MORE),
	     OWN(10, 0, 0x80, NUMBERED), END(20, 0, COMPLETE));
	assert_string_equal(told_find(&told, 3)->name, "abcdefghabcdefghabcdefghbcdefgh…");
	told_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_comes_again),
		cmocka_unit_test(test_numbers_everywhere),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_dropped_from_queue),
		cmocka_unit_test(test_queued_again),
		cmocka_unit_test(test_finished_in_queue),
		cmocka_unit_test(test_queued_again_by_itself),
		cmocka_unit_test(test_dropped_memory_is_used_at_once),
		cmocka_unit_test(test_another_type),
		cmocka_unit_test(test_woken_before_any_run),
		cmocka_unit_test(test_own_ids),
		cmocka_unit_test(test_doubtful_ids),
		cmocka_unit_test(test_cut_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
