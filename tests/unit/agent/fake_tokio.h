// SPDX-License-Identifier: MIT OR Apache-2.0
/* Made-up tasks of Tokio for tests of the agent's core, and their table, hooked. */
#ifndef UNIT_AGENT_FAKE_TOKIO_H
#define UNIT_AGENT_FAKE_TOKIO_H

#include "agent/fast.h"
#include "world.h"

#define TYPE	7
#define INITIAL 0xcc /* three references, wanted, notified */

static unsigned nr_deallocs;

static void fake_poll(uint64_t header)
{
}

static void fake_dealloc(uint64_t header)
{
	nr_deallocs++;
}

static uint64_t fake_table[10];

/* state, queue_next, vtable, owner_id, (scheduler), id, output … */
struct fake_task {
	uint64_t state, next, vtable, owner, scheduler, id, stage[8], trailer[4];
};

/* As the hooks do it. */
static inline void enter(struct core_entry *run, struct fake_task *task)
{
	*run = core_enter((uint64_t)task, CORE_POLL, mine);
}

static inline bool leave(const struct core_entry *run)
{
	return core_leave(run, mine);
}

static int hook_fake_table(void)
{
	struct core_table *table;

	memset(core_page.cell_sizes, 0xff, sizeof(core_page.cell_sizes));
	assert_int_equal(madvise(&core_page, sizeof(core_page), MADV_WIPEONFORK), 0);
	table = core_table_find((uint64_t)fake_table, true);
	*table = (struct core_table){ .poll = (uint64_t)fake_poll,
				      .dealloc = (uint64_t)fake_dealloc,
				      .id_off = offsetof(struct fake_task, id),
				      .stage_off = offsetof(struct fake_task, stage),
				      .trailer_off = offsetof(struct fake_task, trailer),
				      .scheduler_off = offsetof(struct fake_task, scheduler),
				      .type_word = EVENT_WORD1(0, TYPE),
				      .addr = (uint64_t)fake_table };
	nr_deallocs = 0;
	return 0;
}

static inline int set_up(void **state)
{
	world_init();
	return hook_fake_table();
}

static struct wire_thread *my_slot(void)
{
	struct wire_thread *t = core_sleep(0);

	assert_non_null(t);
	core_awake(t);
	return t;
}

static inline void skip_all(struct wire_thread *t)
{
	t->tail = t->head;
}

#endif
