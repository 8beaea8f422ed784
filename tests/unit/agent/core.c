// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The agent's core on made-up tasks and tables: what is written into the ring, what happens when a
 * thread pointer is reused, when a signal handler comes in between, and after a fork.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "fake_tokio.h"

/* A poll is a start with id, type and address, and an end with what became of the task. */
static void test_poll(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 42 };
	struct wire_thread *t = my_slot();
	struct core_entry run;
	uint64_t w[5], started;

	skip_all(t);
	enter(&run, &task);
	assert_int_equal(task.state, INITIAL + 64);
	assert_int_equal(innermost(t)->header, (uint64_t)&task);
	task.state |= 2; /* completes */
	assert_false(leave(&run));
	assert_int_equal(task.state, INITIAL | 2);

	assert_int_equal(take_event(t, w), EV_RUN_START);
	started = w[0] >> EVENT_TICK_SHIFT;
	assert_int_equal(w[1] & EVENT_ID_MASK, 42);
	assert_int_equal(w[1] >> EVENT_ID_BITS, TYPE);
	assert_int_equal(w[2], (uint64_t)&task);
	assert_int_equal(take_event(t, w), EV_RUN_END);
	assert_true(w[0] >> EVENT_TICK_SHIFT > started);
	assert_int_equal(w[0] >> EVENT_KIND_BITS & 31,
			 EF_END_COMPLETE | EF_END_WANTED | EF_END_NOTIFIED);
	assert_int_equal(take_event(t, w), 0);
	assert_int_equal(innermost(t)->id, CORE_UNTOLD);
}

/*
 * The plan may be wrong about where a table begins. Its functions are called all the same, nothing
 * is recorded of its tasks, and what is missing is counted.
 */
static void test_misplaced_table(void **state)
{
	static const int shifts[] = { -3, 3, 4 }; /* words */
	struct wire_thread *t = my_slot();

	for (unsigned i = 0; i < sizeof(shifts) / sizeof(*shifts); i++) {
		struct fake_task task = { .state = INITIAL,
					  .id = 41,
					  .vtable = (uint64_t)(fake_table + shifts[i]) };
		struct core_entry run;
		uint64_t head;

		skip_all(t);
		head = t->head;
		enter(&run, &task);
		assert_int_equal(run.table->poll, (uint64_t)fake_poll);
		assert_false(leave(&run));
		assert_int_equal(core_schedule((uint64_t)&task, mine), run.table->schedule);
		assert_int_equal(task.state, INITIAL);
		assert_int_equal(t->head, head);
		assert_int_equal(t->lost[EV_RUN_START], i + 1);
		assert_int_equal(t->lost[EV_RUN_END], i + 1);
		assert_int_equal(t->lost[EV_WAKE], i + 1);
	}
}

/* The last reference is ours: the caller must free the task. */
static void test_last_reference(void **state)
{
	struct fake_task task = { .state = 64 | 4, .vtable = (uint64_t)fake_table, .id = 1 };
	struct core_entry run;

	enter(&run, &task);
	task.state -= 64; /* the runtime lets go */
	assert_true(leave(&run));
}

/* A panic counts only if the runtime kept its payload as the task's output. */
static void test_panic(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 5 };
	struct wire_thread *t = my_slot();
	uint64_t w[5];

	for (int is_kept = 0; is_kept < 2; is_kept++) {
		struct core_entry run;

		skip_all(t);
		enter(&run, &task);
		core_panic(0x1111, 0x2222, true);
		task.stage[0] = 1;
		task.state |= 2;
		task.stage[3] = is_kept ? 0x1111 : 0;
		task.stage[4] = is_kept ? 0x2222 : 0;
		task.stage[5] = is_kept ? task.id : 0;
		leave(&run);
		assert_int_equal(take_event(t, w), EV_RUN_START);
		assert_int_equal(take_event(t, w), EV_PANIC);
		assert_int_equal(take_event(t, w), EV_RUN_END);
		assert_int_equal(!!(w[0] >> EVENT_KIND_BITS & EF_END_PANICKED), is_kept);
	}
}

/* A panic that somebody awaits is wanted, even if they were quick to take it; one whose handle was
 * dropped before is not. */
static void test_panic_wanted(void **state)
{
	struct wire_thread *t = my_slot();
	uint64_t w[5];

	for (int is_held = 0; is_held < 2; is_held++) {
		struct fake_task task = { .state = is_held ? INITIAL : INITIAL & ~8,
					  .vtable = (uint64_t)fake_table };
		struct core_entry run;

		skip_all(t);
		enter(&run, &task);
		core_panic(0x1111, 0x2222, true);
		task.state = (task.state | 2) & ~8;
		leave(&run);
		assert_int_equal(take_event(t, w), EV_RUN_START);
		assert_int_equal(take_event(t, w), EV_PANIC);
		assert_int_equal(take_event(t, w), EV_RUN_END);
		assert_true(w[0] >> EVENT_KIND_BITS & EF_END_PANICKED);
		assert_int_equal(!!(w[0] >> EVENT_KIND_BITS & EF_END_WANTED), is_held);
	}
}

/* A signal handler that records while the thread is writing an event spoils nothing: it is counted.
 */
static void test_nested_event(void **state)
{
	struct wire_thread *t = my_slot();
	uint64_t lost = t->lost[EV_SLEEP], head, limit;

	head = t->head;
	limit = t->limit;
	t->limit = 0;
	core_awake(core_sleep(EF_SLEEP_FUTEX));
	t->limit = limit;
	assert_int_equal(t->head, head);
	assert_int_equal(t->lost[EV_SLEEP], lost + 1);
}

static void *one_event(void *arg)
{
	struct wire_thread *t = my_slot();

	core_thread_stop(t);
	return t;
}

static bool is_shown(const struct wire_thread *t)
{
	uint64_t slot = t - region->threads;

	return region->slots_used[slot / 64] >> slot % 64 & 1;
}

/* Threads that follow each other get slots of their own until the consumer has recycled the old
 * one; it finds each by its bit. */
static void test_threads(void **state)
{
	void *slots[20];

	for (unsigned i = 0; i < 20; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, one_event, NULL);
		pthread_join(thread, &slots[i]);
		assert_int_equal(((struct wire_thread *)slots[i])->state, WIRE_THREAD_DEAD);
		assert_true(is_shown(slots[i]));
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(slots[i], slots[k]);
	}
}

/* A child that was forked inside a poll leaves it without touching the parent's ring. */
static void test_fork_in_poll(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 3 };
	struct wire_thread *t = my_slot();
	struct core_entry run;
	uint64_t head;
	int status;

	skip_all(t);
	enter(&run, &task);
	head = t->head;
	if (fork() == 0) {
		mine = NULL; /* as the fork handler does */
		leave(&run);
		core_awake(t);
		core_spawn(0x1000, 128, WIRE_NO_STACK);
		_exit(task.state == INITIAL && core_sleep(0) == NULL ? 0 : 1);
	}
	wait(&status);
	assert_int_equal(status, 0);
	assert_int_equal(t->head, head);
	assert_int_equal(innermost(t)->header, (uint64_t)&task);
	leave(&run);
}

/* Only a foreign wake of a running task is worth an event of its own. */
static void test_wake_running(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 8 };
	struct wire_thread *t = my_slot();
	struct core_entry run;
	uint64_t w[5];

	skip_all(t);
	assert_false(core_is_running((uint64_t)&task)); /* idle: comes by the schedule slot */
	task.state = 64 | 1;
	assert_true(core_is_running((uint64_t)&task));
	core_wake_running((uint64_t)&task);
	assert_int_equal(take_event(t, w), EV_WAKE);
	assert_int_equal(w[0] >> EVENT_KIND_BITS & 31, EF_WAKE_RUNNING);
	enter(&run, &task);
	skip_all(t);
	core_wake_running((uint64_t)&task); /* itself */
	assert_int_equal(take_event(t, w), 0);
	leave(&run);
}

static void run_once(struct fake_task *task)
{
	struct core_entry run;

	task->state = INITIAL;
	enter(&run, task);
	leave(&run);
}

/* A JoinHandle goes: that is told unless the output was taken, which a finished task shows. */
static void test_detach(void **state)
{
	static const struct {
		uint64_t state, stage;
		bool is_told;
	} cases[] = {
		{ INITIAL, 0, true },
		{ INITIAL | TOKIO_RUNNING, 2, true },
		{ INITIAL | TOKIO_COMPLETE, 1, true },
		{ INITIAL | TOKIO_COMPLETE, 2, false },
	};
	struct wire_thread *t = my_slot();
	uint64_t w[5];

	core_detaches[core_table_find((uint64_t)fake_table, false) - core_tables] = 0x1234;
	skip_all(t);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fake_task task = { .state = cases[i].state,
					  .vtable = (uint64_t)fake_table,
					  .id = 33,
					  .stage = { cases[i].stage } };

		assert_int_equal(core_detach((uint64_t)&task), 0x1234);
		assert_int_equal(take_event(t, w), cases[i].is_told ? EV_DETACH : 0);
		if (cases[i].is_told)
			assert_int_equal(w[1], EVENT_WORD1(33, TYPE));
		assert_int_equal(task.state, cases[i].state);
	}
}

/* A scheduler whose tasks stay on their thread says so in a word of its own; where that is not
 * known nothing is read. */
static void test_local_instance(void **state)
{
	uint64_t scheduler[4] = { 0 }, w[5];
	struct fake_task task = { .vtable = (uint64_t)fake_table,
				  .id = 42,
				  .owner = 7,
				  .scheduler = (uint64_t)scheduler };
	struct core_table *table = core_table_find((uint64_t)fake_table, false);
	struct wire_thread *t = my_slot();

	for (unsigned word = 0; word < 4; word++) {
		table->local_off = 24 * (word >= 2);
		scheduler[3] = word % 2;
		task.owner++;
		skip_all(t);
		run_once(&task);
		assert_int_equal(take_event(t, w), EV_INSTANCE);
		assert_int_equal(w[0] >> EVENT_KIND_BITS & 31, word == 3 ? EF_INSTANCE_LOCAL : 0);
	}
}

/* Before a run of another owner's task than the thread ran last, and once in a segment: not at each
 * run, and never of a task that nobody owns. */
static void test_instances(void **state)
{
	struct fake_task first = { .vtable = (uint64_t)fake_table,
				   .id = 42,
				   .owner = 7,
				   .scheduler = 0x7f0000001000 },
			 copy = first, later = first, closure = { .vtable = (uint64_t)fake_table };
	struct wire_thread *t = my_slot();
	unsigned nr = 0, nr_runs = 0, kind;
	uint64_t w[5];

	copy.scheduler += 64; /* another copy of Tokio counts from 1 too */
	later.owner++;	      /* a scheduler's address is used again */
	skip_all(t);
	run_once(&closure);
	assert_int_equal(take_event(t, w), EV_RUN_START);
	skip_all(t);
	run_once(&first);
	assert_int_equal(take_event(t, w), EV_INSTANCE);
	assert_int_equal(w[1], EVENT_WORD1(42, TYPE));
	assert_int_equal(w[2], first.scheduler);
	assert_int_equal(w[3], 7);
	assert_int_equal(take_event(t, w), EV_RUN_START);
	skip_all(t);
	run_once(&first);
	assert_int_equal(take_event(t, w), EV_RUN_START);
	skip_all(t);
	run_once(&copy);
	assert_int_equal(take_event(t, w), EV_INSTANCE);
	assert_int_equal(w[2], copy.scheduler);
	skip_all(t);
	run_once(&later);
	assert_int_equal(take_event(t, w), EV_INSTANCE);
	assert_int_equal(w[3], 8);
	skip_all(t);
	for (unsigned i = 0; i < 10 * SEGMENT_WORDS; i++) {
		run_once(&later);
		while ((kind = take_event(t, w))) {
			nr += kind == EV_INSTANCE;
			nr_runs += kind == EV_RUN_START;
		}
	}
	assert_int_equal(nr_runs, 10 * SEGMENT_WORDS);
	assert_in_range(nr, 10, 10 * SEGMENT_WORDS * 4 / (SEGMENT_WORDS - 8) + 1);
}

/* A place is told with its task, or not at all: then the caller will try again. */
static void test_spawn_place(void **state)
{
	struct fake_task task = { .state = INITIAL, .vtable = (uint64_t)fake_table, .id = 42 };
	const struct core_table *table = core_table_find((uint64_t)fake_table, false);
	struct wire_thread *t = my_slot();
	unsigned nr = 0;
	uint64_t w[5];

	skip_all(t);
	assert_true(core_spawn_place((uint64_t)&task, table, 7));
	assert_int_equal(take_event(t, w), EV_SPAWN_PLACE);
	assert_int_equal(w[1], EVENT_WORD1(42, TYPE));
	assert_int_equal(w[2], 7);
	while (core_spawn_place((uint64_t)&task, table, 7))
		assert_true(++nr < RING_WORDS);
	assert_int_equal(t->lost[EV_SPAWN_PLACE], 1);
	core_page.threads = NULL;
	assert_false(core_spawn_place((uint64_t)&task, table, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_poll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_misplaced_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_last_reference, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_panic, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_detach, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_panic_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nested_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fork_in_poll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wake_running, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_instances, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_local_instance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spawn_place, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
