// SPDX-License-Identifier: MIT OR Apache-2.0
/* The probes of async-task on made-up tasks: machines, what blocks them, and whose tasks are local.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/async_task.h"
#include "probes_world.h"

static uint64_t async_table[8];
static uint64_t async_tasks[3][12]; /* the table comes first */

static void attach_async_std(void)
{
	attach(for_perf, PROBE_ASYNC_STD_TASK_SPAWN, PROBE_MACHINE_STARTING);
}

static uint64_t addr_of(unsigned nr)
{
	return (uint64_t)async_tasks[nr - 1];
}

static void enter_async(struct async_run *r, unsigned nr)
{
	*r = (struct async_run){ .task = addr_of(nr),
				 .table = core_table_find((uint64_t)async_table, false),
				 .is_held = true,
				 .is_watched = true };
	probes_machine_runs(r, false);
}

static void run_for(unsigned nr, uint64_t ns, unsigned end_flags)
{
	struct async_run r;

	enter_async(&r, nr);
	now_ns += ns;
	r.end_flags = end_flags;
	probes_machine_ran(&r);
}

static int set_up(void **state)
{
	struct core_table *t;

	probes_world_init();
	nr_before = (uint64_t)async_tasks - sizeof(async_tasks[0]);
	nr_each = sizeof(async_tasks[0]);
	t = core_table_find((uint64_t)async_table, true);
	*t = (struct core_table){ .id_off = 40,
				  .stage_off = 48,
				  .trailer_off = sizeof(async_tasks[0]),
				  .addr = (uint64_t)async_table };
	probes_set_type(t, &(struct wire_table){ .name = NAME_AT });
	for (unsigned i = 0; i < 3; i++)
		async_tasks[i][0] = (uint64_t)async_table;
	attach_async_std();
	for (unsigned i = 1; i <= 3; i++) /* what another test has queued */
		run_for(i, 0, 0);
	said[said_len = 0] = 0;
	nr_looks = 0;
	return 0;
}

static void *wake_elsewhere(void *arg)
{
	probes_task_woken(*(uint64_t *)arg);
	return NULL;
}

/* A task is local to the machine that spawned it, woke it, or ran it when it was woken. */
static void test_local(void **state)
{
	uint64_t first = addr_of(1);
	struct async_run r;

	run_for(1, 0, 0);
	assert_said("scheduled here 1 far\n"); /* nobody knows who queued it */
	probes_task_spawned(first);
	run_for(1, 0, 0);
	assert_said("spawn 1 of 0 Fut\nscheduled here 1 local\n");
	probes_task_woken(first);
	run_for(1, 0, 0);
	assert_said("scheduled here 1 local\n");
	in_thread(wake_elsewhere, &first);
	run_for(1, 0, 0);
	assert_said("scheduled here 1 far\n");
	enter_async(&r, 1);
	r.was_woken = true;
	probes_machine_ran(&r);
	run_for(1, 0, 0);
	assert_said("scheduled here 1 far\nscheduled here 1 local\n");
}

/* Who queued it last is not known if nobody was attached meanwhile. */
static void test_gap(void **state)
{
	probes_task_woken(addr_of(1));
	detach_all();
	assert_true(probes_wanted(PROBES_ASYNC_TASK));
	probes_task_woken(addr_of(2));
	assert_false(probes_wanted(PROBES_ASYNC_TASK) || probes_wanted(PROBES_TOKIO));
	attach_async_std();
	run_for(1, 0, 0);
	run_for(2, 0, 0);
	assert_said("scheduled here 1 far\nscheduled here 2 far\n");
}

/* What a task spawns while it runs has it for a parent. */
static void test_parent(void **state)
{
	struct async_run r;

	enter_async(&r, 2);
	probes_task_spawned(addr_of(3));
	r.end_flags = EF_END_COMPLETE;
	probes_machine_ran(&r);
	probes_task_spawned(addr_of(1));
	assert_said("scheduled here 2 far\nspawn 3 of 2 Fut\ncompleted 2\nspawn 1 of 0 Fut\n");
}

/* One rule with `report --by=machine`: so long or longer. It is told before the end of the task. */
static void test_blocked(void **state)
{
	run_for(1, BLOCKADE_NS - 1, 0);
	assert_said("scheduled here 1 far\n");
	run_for(1, BLOCKADE_NS, EF_END_COMPLETE);
	assert_said("scheduled here 1 far\nblocked here 1 10000000\ncompleted 1\n");
	assert_int_equal(nr_looks, 4);
	/* nobody wants to know: nobody looks at the clock */
	detach_all();
	attach(for_perf, PROBE_MACHINE_SCHEDULED_TASK, PROBE_MACHINE_SCHEDULED_TASK);
	run_for(1, BLOCKADE_NS, 0);
	assert_said("scheduled here 1 far\n");
	assert_int_equal(nr_looks, 4);
}

/* A run that drops a task is none of its future. */
static void test_drop(void **state)
{
	struct async_run r = { .task = addr_of(1),
			       .table = core_table_find((uint64_t)async_table, false),
			       .is_watched = true };

	probes_machine_runs(&r, true);
	now_ns += 2 * BLOCKADE_NS;
	r.end_flags = EF_END_COMPLETE;
	probes_machine_ran(&r);
	assert_said("completed 1\n");
}

/* A thread is a machine from its first poll on: what is dropped there, closed before, or of the
 * blocking pool makes it none. */
static void test_starting(void **state)
{
	struct core_table *table = core_table_find((uint64_t)async_table, false);
	struct async_run r = { .task = addr_of(1), .table = table };

	probes_is_machine = false;
	probes_machine_starts(&r, false); /* closed: it is not held */
	r.is_held = true;
	probes_machine_starts(&r, true);
	probes_set_type(table,
			&(struct wire_table){ .name = NAME_AT, .task_kind = WIRE_TASK_BLOCKING });
	probes_machine_starts(&r, false);
	assert_false(probes_is_machine);
	assert_said("");
	probes_set_type(table, &(struct wire_table){ .name = NAME_AT });
	probes_machine_starts(&r, false);
	assert_true(probes_is_machine);
	assert_said("starting here\n");
}

static void test_nobody(void **state)
{
	struct wire_region *was = core_page.region;
	struct async_run r = { .task = addr_of(1),
			       .table = core_table_find((uint64_t)async_table, false),
			       .is_held = true };

	detach_all();
	probes_is_machine = false;
	probes_machine_starts(&r, false);
	probes_task_spawned(addr_of(1));
	run_for(1, BLOCKADE_NS, EF_END_COMPLETE);
	assert_said("");
	assert_int_equal(nr_looks, 0);
	assert_true(probes_is_machine);
	attach_async_std();
	probes_machine_starts(&r, false);
	assert_said("starting here\n");
	/* a child by fork that nobody traces */
	core_page.region = NULL;
	probes_task_spawned(addr_of(1));
	enter_async(&r, 1);
	assert_false(r.is_watched);
	assert_said("");
	core_page.region = was;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(local), TEST(gap),	     TEST(parent), TEST(blocked),
		TEST(drop),  TEST(starting), TEST(nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
