// SPDX-License-Identifier: MIT OR Apache-2.0
/* Whatever slot of a task table the agent hooks goes back to what the plan has there. */
#include "capture/unhook.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"

/* This very process is the target, and its own code stands for the agent's. */
static uint64_t table[8];

static void hook(void)
{
}

static void test_all_slots(void **state)
{
	struct found_table found = { .plan = { .kind = WIRE_TABLE_TOKIO,
					       .va = (uint64_t)table,
					       .nr_words = ARRAY_SIZE(table),
					       .code_mask = 0xff,
					       .slot_poll = 0,
					       .slot_schedule = 1,
					       .slot_dealloc = 2,
					       .slot_shutdown = 6,
					       .slot_wake = WIRE_NO_SLOT,
					       .slot_wake_by_ref = WIRE_NO_SLOT,
					       .slot_abort = 5,
					       .slot_detach = 4 } };
	const unsigned hooked[] = { 0, 1, 4, 5, 6 };
	struct discovery d = { .tables = &found, .nr_tables = 1 };
	struct process p = { .pid = getpid() };
	char self[PATH_MAX];

	assert_non_null(realpath("/proc/self/exe", self));
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		table[i] = found.plan.words[i] = 1000 + i;
	for (unsigned i = 0; i < ARRAY_SIZE(hooked); i++)
		table[hooked[i]] = (uint64_t)hook;
	vec_push(&p.objects, (struct process_object){ .d = &d, .nr_planned = 1 });
	assert_int_equal(unhook_process(&p, self), ARRAY_SIZE(hooked));
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(table[i], 1000 + i);
	vec_release(&p.objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
