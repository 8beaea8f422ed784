// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves what each sequence of events means for one task: its states, wakes, spawn and end. */
#include "unit.h"

#include "script.h"

#define assert_life(t, busy, sched, idle, unknown)                       \
	do {                                                             \
		assert_non_null(t);                                      \
		assert_int_equal((t)->ns[MODEL_RUNNING], busy);          \
		assert_int_equal((t)->ns[MODEL_SCHEDULED], sched);       \
		assert_int_equal((t)->ns[MODEL_IDLE], idle);             \
		assert_int_equal((t)->ns[MODEL_UNKNOWN], unknown);       \
		assert_int_equal((t)->end_ns - (t)->spawn_ns,            \
				 (busy) + (sched) + (idle) + (unknown)); \
	} while (0)

/* Spawned by a task, polled, woken by a thread, polled to its end. */
static void test_plain_life(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), SPAWN(20, 0, 0x2000), END(30, 0, 0), POLL(50, 0, 2),
	     END(57, 0, 0), WAKE(100, 1, 2, 0), POLL(130, 0, 2),
	     END(141, 0, COMPLETE | EF_END_WANTED));
	t = told_find(&told, 2);
	assert_life(t, 7 + 11, 30 + 30, 43, 0);
	assert_int_equal(t->polls, 2);
	assert_int_equal(t->max_poll_ns, 11);
	assert_int_equal(t->wakes[MODEL_BY_THREAD], 1);
	assert_true(t->spawn_exact && t->has_parent && t->is_wanted);
	assert_int_equal(t->parent.id, 1);
	assert_int_equal(t->end, MODEL_COMPLETED);
	assert_int_equal(t->end_ns, 141);
	/* the other one was never seen to be spawned, and is alive */
	t = told_find(&told, 1);
	assert_life(t, 20, 0, 970, 0);
	assert_false(t->spawn_exact);
	assert_int_equal(t->end, MODEL_ALIVE);
	told_release(&told);
}

/* Nobody knows how long a task waited that was first seen to run; of one that was spawned, or first
 * seen to be woken, or ran before, it is known. */
static void test_wait_of_first_sight(void **state)
{
	struct told told;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, 0), POLL(50, 0, 1), SPAWN(55, 0, 0x2000),
	     END(60, 0, 0), POLL(70, 0, 2), END(80, 0, 0), WAKE(85, 1, 3, 0), POLL(90, 0, 3),
	     END(95, 0, 0));
	assert_int_equal(told.runs.nr, 4);
	assert_false(told.runs.v[0].is_gap_known);
	for (int i = 1; i < 4; i++)
		assert_true(told.runs.v[i].is_gap_known);
	assert_int_equal(told.runs.v[1].sched_ns, 30);
	assert_int_equal(told.runs.v[2].sched_ns, 15);
	assert_int_equal(told.runs.v[3].sched_ns, 5);
	told_release(&told);
}

/* A wait that is cut by the start has the time that it has since: what was unknown lies before. */
static void test_wait_cut_by_start(void **state)
{
	static const struct event evs[] = { SPAWN(5, 1, 0x1000), WAKE(10, 1, 1, 0), POLL(100, 0, 1),
					    END(110, 0, COMPLETE) };
	struct told told;

	play_from(&told, evs, ARRAY_SIZE(evs), 50, 1000, NULL);
	assert_true(told.runs.v[0].is_gap_known);
	assert_int_equal(told.runs.v[0].sched_ns, 50);
	assert_life(told_find(&told, 1), 10, 50, 0, 0);
	told_release(&told);
	play(&told, evs, ARRAY_SIZE(evs), 1000, NULL);
	assert_false(told.runs.v[0].is_gap_known);
	assert_life(told_find(&told, 1), 10, 90, 0, 5);
	told_release(&told);
}

#define STACK(t, th, nr)                                                   \
	{                                                                  \
		.time = t, .thread = th, .kind = EV_SPAWN_STACK, .a = (nr) \
	}

/* A stack belongs to the spawn of the same moment and thread, and to no other. */
static void test_spawn_stack(void **state)
{
	struct told told;

	PLAY(&told, 1000, SPAWN(10, 0, 0x1000), STACK(10, 0, 7), SPAWN(20, 0, 0x2000),
	     STACK(21, 0, 8), SPAWN(30, 0, 0x3000), STACK(30, 1, 9), SPAWN(40, 1, 0x4000),
	     STACK(40, 1, UINT64_MAX), STACK(50, 1, 5), POLL(100, 0, 1), END(101, 0, COMPLETE),
	     POLL(110, 0, 2), END(111, 0, COMPLETE), POLL(120, 0, 3), END(121, 0, COMPLETE),
	     POLL(130, 0, 4), END(131, 0, COMPLETE), POLL(140, 0, 5), END(141, 0, COMPLETE));
	assert_int_equal(told_find(&told, 1)->spawn_stack, 7);
	for (int i = 2; i <= 5; i++)
		assert_int_equal(told_find(&told, i)->spawn_stack, MODEL_NO_STACK);
	assert_true(told_find(&told, 4)->spawn_exact);
	told_release(&told);
}

/* A run that nobody was seen to ask for: the task woke itself in the run before. */
static void test_self_wake(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, 0), POLL(50, 0, 1), END(60, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 20, 30, 0, 0);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 1);
	assert_int_equal(told.wakes.nr, 1);
	assert_int_equal(told.wakes.v[0].time_ns, 20);
	told_release(&told);
}

/* A wake from elsewhere while it ran is the cause of the next run; a redundant one is none. */
static void test_woken_while_running(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), POLL(11, 1, 2), WAKE(15, 1, 1, EF_WAKE_RUNNING),
	     WAKE(16, 2, 1, EF_WAKE_RUNNING), END(20, 0, 0), POLL(50, 0, 1), END(60, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 20, 30, 0, 0);
	assert_int_equal(t->wakes[MODEL_BY_TASK], 1);
	assert_int_equal(told.wakes.nr, 1);
	assert_int_equal(told.wakers.v[0].key.id, 2);
	told_release(&told);

	/* Seen as running, but it had let go meanwhile: the transition that follows is the only
	 * one. */
	PLAY(&told, 1000, POLL(10, 0, 1), WAKE(15, 1, 1, EF_WAKE_RUNNING), END(20, 0, 0),
	     WAKE(30, 1, 1, 0), POLL(50, 0, 1), END(60, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 20, 20, 10, 0);
	assert_int_equal(told.wakes.nr, 1);
	told_release(&told);
}

/* Each cause of a wake, from where the waking thread was. */
static void test_causes(void **state)
{
	struct told told;
	static const enum model_cause expected[] = { MODEL_BY_THREAD, MODEL_BY_WORKER,
						     MODEL_BY_TASK,   MODEL_BY_SELF,
						     MODEL_BY_ABORT,  MODEL_BY_WORKER };

	PLAY(&told, 1000, WAKE(1, 9, 1, 0), START(2, 0, 90, LAUNCH, 0), WAKE(3, 0, 1, 0),
	     POLL(4, 0, 2), WAKE(5, 0, 1, 0), WAKE(6, 0, 2, 0), WAKE(7, 0, 1, EF_WAKE_ABORT),
	     END(8, 0, 0), END(9, 0, COMPLETE), WAKE(10, 0, 1, 0));
	assert_int_equal(told.wakes.nr, 6);
	for (size_t i = 0; i < told.wakes.nr; i++)
		assert_int_equal(told.wakers.v[i].cause, expected[i]);
	assert_int_equal(told.tasks.nr, 2);
	told_release(&told);
}

/* After a loss nobody knows what a task did between two events, except while it ran. */
static void test_loss(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), LOST(15, 1, RUN_START, 3), END(20, 0, 0),
	     LOST(25, 1, RUN_START, 3), POLL(50, 0, 1), END(60, 0, 0), LOST(65, 1, SLEEP, 3),
	     POLL(70, 0, 1), END(75, 0, 0), WAKE(80, 1, 1, 0), LOST(85, 1, WAKE, 1), POLL(90, 0, 1),
	     END(100, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 10 + 10 + 5 + 10, 10, 5, 30 + 10);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 1);
	assert_int_equal(told.totals.lost[EV_RUN_START], 6);
	assert_int_equal(told.totals.lost[EV_SLEEP], 3);
	told_release(&told);
}

/* A loss that only the end of the recording tells makes the last stretch unknown. */
static void test_loss_at_end(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, 0) };
	uint64_t lost[EV_MAX] = { [EV_WAKE] = 1 };
	struct told told;

	play(&told, evs, 2, 100, lost);
	assert_life(told_find(&told, 1), 10, 0, 0, 80);
	told_release(&told);
	lost[EV_WAKE] = 0;
	play(&told, evs, 2, 100, lost);
	assert_life(told_find(&told, 1), 10, 0, 80, 0);
	told_release(&told);
}

/* Every way to end, and that the flags of an earlier run decide nothing. */
static void test_ends(void **state)
{
	static const enum model_end expected[] = {
		[1] = MODEL_COMPLETED, [2] = MODEL_CANCELLED, [3] = MODEL_DROPPED,
		[4] = MODEL_PANICKED,  [5] = MODEL_CANCELLED, [6] = MODEL_COMPLETED,
	};
	struct told told;

	PLAY(&told, 1000, POLL(10, 0, 1), END(11, 0, COMPLETE), START(12, 0, 2, ASYNC, EF_RUN_DROP),
	     END(13, 0, CANCELLED), START(14, 0, 3, ASYNC, EF_RUN_SHUTDOWN), END(15, 0, CANCELLED),
	     POLL(16, 0, 4), END(17, 0, COMPLETE | EF_END_PANICKED), POLL(18, 0, 5),
	     END(19, 0, CANCELLED), POLL(20, 0, 6),
	     START(21, 1, 6, ASYNC, EF_RUN_SHUTDOWN | EF_RUN_FINISHED), END(22, 1, CANCELLED),
	     END(23, 0, CANCELLED),
	     /* complete and forgotten long ago: no task */
	     START(24, 1, 7, ASYNC, EF_RUN_SHUTDOWN | EF_RUN_FINISHED), END(25, 1, CANCELLED));
	assert_int_equal(told.tasks.nr, 6);
	for (uint64_t id = 1; id <= 6; id++)
		assert_int_equal(told_find(&told, id)->end, expected[id]);
	assert_int_equal(told_find(&told, 2)->polls, 0);
	assert_int_equal(told_find(&told, 3)->polls, 0);
	assert_int_equal(told_find(&told, 2)->ns[MODEL_RUNNING], 1);
	told_release(&told);
}

/* Two runs overlap in their stamps: the earlier one is clipped and cannot end the task. */
static void test_overlap(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), POLL(20, 1, 1), END(22, 0, COMPLETE),
	     END(30, 1, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 20, 0, 0, 0);
	assert_int_equal(t->polls, 2);
	assert_int_equal(t->max_poll_ns, 10);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 1);
	assert_int_equal(t->end_ns, 30);
	assert_int_equal(told.runs.v[0].end_ns, 20);
	told_release(&told);
}

/* An end is taken back when the task runs or is woken after it. */
static void test_retraction(void **state)
{
	struct told told;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, COMPLETE), POLL(21, 1, 1),
	     END(30, 1, COMPLETE), POLL(110, 0, 2), END(120, 0, COMPLETE), WAKE(125, 1, 2, 0),
	     POLL(130, 1, 2), END(140, 1, COMPLETE));
	assert_int_equal(told.tasks.nr, 2);
	assert_life(told_find(&told, 1), 19, 1, 0, 0);
	assert_life(told_find(&told, 2), 20, 5, 5, 0);
	told_release(&told);
}

/* The end stamp of a run comes after the wake that followed it. */
static void test_wake_before_end_stamp(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), WAKE(19, 1, 1, 0), END(20, 0, 0), POLL(30, 0, 1),
	     END(40, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_life(t, 20, 10, 0, 0);
	assert_int_equal(t->wakes[MODEL_BY_THREAD], 1);
	assert_int_equal(t->wakes[MODEL_BY_SELF], 0);
	told_release(&told);
}

/* A runtime that shuts down meets a running task, or one whose end stamp is late. */
static void test_shutdown_overlap(void **state)
{
	struct told told;

	PLAY(&told, 1000, POLL(10, 0, 1), START(20, 1, 1, ASYNC, EF_RUN_SHUTDOWN), END(22, 1, 0),
	     END(30, 0, CANCELLED), POLL(40, 0, 2), START(50, 1, 2, ASYNC, EF_RUN_SHUTDOWN),
	     END(51, 0, 0), END(60, 1, CANCELLED));
	assert_int_equal(told_find(&told, 1)->end, MODEL_DROPPED);
	assert_life(told_find(&told, 1), 20, 0, 0, 0);
	assert_int_equal(told_find(&told, 2)->end, MODEL_DROPPED);
	assert_life(told_find(&told, 2), 20, 0, 0, 0);
	assert_int_equal(told_find(&told, 2)->polls, 1);
	told_release(&told);
}

/* A shutdown took a queued task; a worker that popped it calls it for nothing, and that ends first.
 */
static void test_rival_ends_first(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, 0), WAKE(25, 0, 1, 0), SHUTDOWN(30, 1, 1),
	     POLL(32, 0, 1), EV(33, 0, SLEEP), EV(34, 1, SLEEP), EV(35, 0, AWAKE), EV(37, 1, AWAKE),
	     END(38, 0, EF_END_CANCELLED | EF_END_NOTIFIED), END(40, 1, TAKEN));
	t = told_find(&told, 1);
	assert_life(t, 10 + 10, 5, 5, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(t->end_ns, 40);
	assert_int_equal(t->blocked_ns, 3);
	assert_int_equal(told.wakes.nr, 1);
	assert_int_equal(told.runs.nr, 2);
	assert_int_equal(told.threads.v[0].polls, 1);
	told_release(&told);
}

/* … or the shutdown does; the call for nothing may have looked cancelled, or be open when the
 * recording ends. */
static void test_rival_ends_second(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, 0), WAKE(25, 0, 1, 0), SHUTDOWN(30, 1, 1),
	     START(32, 0, 1, ASYNC, EF_RUN_DROP), END(40, 1, TAKEN), END(45, 0, TAKEN),
	     SHUTDOWN(50, 1, 2), POLL(52, 0, 2), END(60, 1, TAKEN), SHUTDOWN(70, 1, 3),
	     POLL(72, 2, 3));
	t = told_find(&told, 1);
	assert_life(t, 10 + 10, 5, 5, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(told_find(&told, 2)->polls, 0);
	assert_int_equal(told_find(&told, 2)->end, MODEL_DROPPED);
	assert_life(told_find(&told, 2), 10, 0, 0, 0);
	assert_int_equal(told_find(&told, 3)->polls, 0);
	assert_int_equal(told_find(&told, 3)->end, MODEL_ALIVE);
	assert_life(told_find(&told, 3), 930, 0, 0, 0);
	assert_int_equal(told.threads.v[0].polls, 1);
	assert_int_equal(told.threads.v[2].polls, 0);
	told_release(&told);
}

/* The shutdown found the poll running and only marked the task, whoever ends first. */
static void test_rival_is_real(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, SHUTDOWN(10, 1, 1), POLL(12, 0, 1), EV(13, 0, SLEEP), EV(14, 1, SLEEP),
	     EV(15, 0, AWAKE), EV(17, 1, AWAKE), END(20, 0, CANCELLED), END(25, 1, CANCELLED),
	     SHUTDOWN(110, 1, 2), POLL(112, 0, 2), END(114, 1, EF_END_CANCELLED),
	     END(120, 0, CANCELLED),
	     /* woken by itself in the poll before: seen only now */
	     POLL(210, 0, 3), END(220, 0, 0), SHUTDOWN(230, 1, 3), POLL(232, 0, 3),
	     END(234, 1, EF_END_CANCELLED), END(240, 0, CANCELLED));
	t = told_find(&told, 1);
	assert_life(t, 10, 0, 0, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->max_poll_ns, 8);
	assert_int_equal(t->blocked_ns, 2);
	assert_int_equal(t->end, MODEL_DROPPED);
	t = told_find(&told, 2);
	assert_life(t, 10, 0, 0, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(told_find(&told, 3)->wakes[MODEL_BY_SELF], 1);
	assert_int_equal(told.wakes.nr, 1);
	assert_int_equal(told_find(&told, 3)->polls, 2);
	told_release(&told);
}

/* A real poll that ends before the shutdown looks at all: not cancelled yet, or panicked. */
static void test_rival_before_shutdown_looks(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, SHUTDOWN(10, 1, 1), POLL(12, 0, 1), END(20, 0, EF_END_NOTIFIED),
	     END(30, 1, TAKEN), SHUTDOWN(110, 1, 2), POLL(112, 0, 2),
	     END(120, 0, TAKEN | EF_END_PANICKED), END(130, 1, TAKEN),
	     /* polled twice: the first one was no call for nothing */
	     SHUTDOWN(210, 1, 3), POLL(212, 0, 3), POLL(220, 2, 3), END(230, 1, TAKEN),
	     END(240, 2, TAKEN), END(250, 0, 0),
	     /* woken since it began: only possible when it is over */
	     SHUTDOWN(310, 1, 4), POLL(312, 0, 4), WAKE(314, 2, 4, 0), END(320, 0, TAKEN),
	     END(330, 1, TAKEN));
	assert_int_equal(told_find(&told, 4)->polls, 1);
	t = told_find(&told, 1);
	assert_life(t, 20, 0, 0, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(t->end_ns, 30);
	t = told_find(&told, 2);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->end, MODEL_PANICKED);
	assert_int_equal(t->end_ns, 120);
	t = told_find(&told, 3);
	assert_life(t, 20, 0, 0, 0);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->max_poll_ns, 8);
	assert_int_equal(t->end, MODEL_DROPPED);
	told_release(&told);
}

/* The ends are missing: a poll that vanishes was none, one whose shutdown vanishes was. */
static void test_rival_vanishes(void **state)
{
	struct told told;

	PLAY(&told, 1000, SHUTDOWN(10, 1, 1), POLL(12, 0, 1), EV(14, 0, THREAD_STOP),
	     END(20, 1, TAKEN), SHUTDOWN(30, 1, 2), POLL(32, 2, 2), EV(34, 1, THREAD_STOP),
	     END(40, 2, CANCELLED));
	assert_int_equal(told_find(&told, 1)->polls, 0);
	assert_int_equal(told_find(&told, 1)->end, MODEL_DROPPED);
	assert_life(told_find(&told, 1), 10, 0, 0, 0);
	assert_int_equal(told_find(&told, 2)->polls, 1);
	assert_int_equal(told_find(&told, 2)->end, MODEL_DROPPED);
	assert_life(told_find(&told, 2), 10, 0, 0, 0);
	told_release(&told);
}

/* The call began first, but the shutdown had the task before it. */
static void test_poll_finds_task_taken(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, SPAWN(1, 0, 0x1000), POLL(10, 0, 1), SHUTDOWN(15, 1, 1), EV(16, 1, SLEEP),
	     EV(18, 1, AWAKE), END(20, 1, TAKEN), END(30, 0, TAKEN), SPAWN(101, 0, 0x2000),
	     POLL(110, 0, 2), SHUTDOWN(115, 1, 2), END(117, 0, EF_END_CANCELLED | EF_END_NOTIFIED),
	     END(120, 1, TAKEN));
	for (uint64_t id = 1; id <= 2; id++) {
		t = told_find(&told, id);
		assert_life(t, 5, 14, 0, 0);
		assert_int_equal(t->polls, 0);
		assert_int_equal(t->max_poll_ns, 0);
		assert_int_equal(t->end, MODEL_DROPPED);
	}
	assert_int_equal(told_find(&told, 1)->blocked_ns, 2);
	assert_int_equal(told.threads.v[0].polls, 0);
	told_release(&told);

	/* Woken since: that poll was over, and only its stamp is late. The same where its end was
	 * looked at early. */
	PLAY(&told, 1000, POLL(10, 0, 1), WAKE(12, 2, 1, 0), SHUTDOWN(15, 1, 1), END(20, 1, TAKEN),
	     END(30, 0, 0), POLL(110, 0, 2), SHUTDOWN(115, 1, 2), END(120, 1, CANCELLED),
	     END(130, 0, 0));
	for (uint64_t id = 1; id <= 2; id++) {
		t = told_find(&told, id);
		assert_life(t, 20, 0, 0, 0);
		assert_int_equal(t->polls, 1);
		assert_int_equal(t->end, MODEL_DROPPED);
	}
	told_release(&told);
}

/* A shutdown takes a task from the queue before the wake that put it there is stamped. */
static void test_wake_after_taken(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 100000000, START(1, 0, 90, LAUNCH, 0), POLL(10, 0, 1), END(20, 0, 0),
	     SHUTDOWN(30, 1, 1), END(40, 1, TAKEN), WAKE(5000040, 0, 1, EF_WAKE_ABORT),
	     WAKE(5000041, 0, 1, EF_WAKE_ABORT), START(5000050, 0, 1, ASYNC, EF_RUN_FINISHED),
	     END(5000060, 0, TAKEN));
	assert_int_equal(told.tasks.nr, 1);
	t = told_find(&told, 1);
	assert_int_equal(t->end, MODEL_DROPPED);
	assert_int_equal(t->end_ns, 40);
	/* the mark of the shutdown is no abort */
	assert_int_equal(t->wakes[MODEL_BY_WORKER], 1);
	assert_int_equal(told.wakes.nr, 1);
	assert_int_equal(told.wakes.v[0].time_ns, 30);
	told_release(&told);
}

/* Shutdown takes idle tasks from where they wait; nobody woke them. */
static void test_shutdown_of_idle(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, POLL(10, 0, 1), END(20, 0, 0), START(50, 1, 1, ASYNC, EF_RUN_SHUTDOWN),
	     END(60, 1, COMPLETE | EF_END_CANCELLED));
	t = told_find(&told, 1);
	assert_life(t, 20, 0, 30, 0);
	assert_int_equal(told.wakes.nr, 0);
	told_release(&told);
}

/* Spawns: by address, the newest one, not inside a helper's own run, not twice. */
static void test_spawn(void **state)
{
	struct told told;
	const struct model_task *t;

	PLAY(&told, 1000, SPAWN(5, 0, 0x1000), START(10, 0, 90, LAUNCH, 0), SPAWN(11, 0, 0x1000),
	     POLL(12, 0, 1), SPAWN(13, 0, 0x3000), END(14, 0, COMPLETE),
	     START_AT(15, 0, 2, ASYNC, 0x1000, 0), END(16, 0, 0), END(17, 0, COMPLETE));
	t = told_find(&told, 1);
	assert_true(t->spawn_exact);
	assert_false(t->has_parent);
	assert_int_equal(t->spawn_ns, 11);
	assert_false(told_find(&told, 2)->spawn_exact);
	assert_int_equal(told.totals.nr_spawns_unmatched, 2);
	told_release(&told);
}

/* Its first runs were lost, and a wake was seen first: the spawn is still its own. */
static void test_spawn_after_wake(void **state)
{
	struct told told;

	PLAY(&told, 1000, SPAWN(5, 0, 0x1000), LOST(8, 0, RUN_START, 1), WAKE(10, 0, 1, 0),
	     POLL(15, 0, 1), END(16, 0, COMPLETE));
	assert_life(told_find(&told, 1), 1, 5, 0, 5);
	assert_true(told_find(&told, 1)->spawn_exact);
	told_release(&told);
}

/* After lost allocations an address says nothing unless the size agrees. */
static void test_spawn_loss(void **state)
{
	static const struct event evs[] = {
		SPAWN(1, 0, 0x1000),
		POLL(2, 0, 1),
		END(3, 0, 0),
		SPAWN(4, 0, 0x2000),
		{ .time = 5, .kind = EV_SPAWN, .a = 0x3000, .b = 256 },
		LOST(6, 0, SPAWN, 1),
		POLL(7, 0, 2),
		END(8, 0, 0),
		POLL(9, 0, 3),
		END(10, 0, 0),
	};
	struct told told;

	play(&told, evs, ARRAY_SIZE(evs), 20, NULL);
	assert_true(told_find(&told, 2)->spawn_exact);
	assert_false(told_find(&told, 3)->spawn_exact);
	told_release(&told);
}

/* Equal ids in two copies of a runtime are two tasks, and an unknown type is a third. */
static void test_identity(void **state)
{
	struct told told;

	PLAY(&told, 1000, POLL(10, 0, 1), END(11, 0, 0), START(12, 0, 1, OTHER_COPY, 0),
	     END(13, 0, 0), START(14, 0, 1, EVENT_TYPE_NONE, 0), END(15, 0, 0),
	     START(16, 0, 1, NR_TYPES, 0), END(17, 0, 0));
	assert_int_equal(told.tasks.nr, 3);
	assert_int_equal(told.tasks.v[0].polls, 1);
	assert_int_equal(told.tasks.v[1].polls, 1);
	assert_int_equal(told.tasks.v[2].polls, 2);
	assert_int_equal(told.tasks.v[2].key.runtime, MODEL_NO_RUNTIME);
	told_release(&told);
}

/* Two copies that nothing tells apart are one runtime; a task has one type, so these are two. */
static void test_copies_as_one(void **state)
{
	struct told told;

	PLAY(&told, 1000, START(10, 0, 1, ASYNC, 0), END(11, 0, 0), START(12, 0, 1, LOCAL, 0),
	     END(13, 0, 0), START(14, 0, 1, ASYNC, 0), END(15, 0, COMPLETE),
	     START(16, 0, 1, LOCAL, 0), END(17, 0, 0));
	assert_int_equal(told.tasks.nr, 2);
	assert_int_equal(told.tasks.v[0].polls, 2);
	assert_int_equal(told.tasks.v[0].end, MODEL_COMPLETED);
	assert_int_equal(told.tasks.v[1].polls, 2);
	assert_int_equal(told.tasks.v[1].end, MODEL_ALIVE);
	told_release(&told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_life),
		cmocka_unit_test(test_wait_of_first_sight),
		cmocka_unit_test(test_wait_cut_by_start),
		cmocka_unit_test(test_spawn_stack),
		cmocka_unit_test(test_self_wake),
		cmocka_unit_test(test_woken_while_running),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_loss_at_end),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_retraction),
		cmocka_unit_test(test_wake_before_end_stamp),
		cmocka_unit_test(test_shutdown_overlap),
		cmocka_unit_test(test_rival_ends_first),
		cmocka_unit_test(test_rival_ends_second),
		cmocka_unit_test(test_rival_is_real),
		cmocka_unit_test(test_rival_before_shutdown_looks),
		cmocka_unit_test(test_rival_vanishes),
		cmocka_unit_test(test_poll_finds_task_taken),
		cmocka_unit_test(test_wake_after_taken),
		cmocka_unit_test(test_shutdown_of_idle),
		cmocka_unit_test(test_spawn),
		cmocka_unit_test(test_spawn_after_wake),
		cmocka_unit_test(test_spawn_loss),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_copies_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
