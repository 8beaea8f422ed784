// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tables of every kind on a page of this process: hooked where memory agrees with the plan, known
 * to be hooked the second time, and left alone where anything is not as it should be. The hooks are
 * stand-ins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/async_task.h"
#include "agent/hooks_futures.h"
#include "agent/redirect.h"
#include "world.h"

#define UNKNOWN 0xff /* a kind of which the agent knows nothing */

#define HOOK(name)                                                                        \
	void name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) \
	{                                                                                 \
	}
HOOK(futrace_hook_poll)
HOOK(futrace_hook_poll_placed)
HOOK(futrace_hook_poll_worker)
HOOK(futrace_hook_schedule)
HOOK(futrace_hook_shutdown)
HOOK(futrace_hook_detach)
HOOK(futrace_hook_abort)
HOOK(futrace_hook_drop_future)
HOOK(futrace_hook_drop_named)
HOOK(futrace_hook_schedule_task)
HOOK(futrace_hook_wake)
HOOK(futrace_hook_wake_by_ref)
HOOK(futrace_hook_drop_waker)

#define RUN_HOOK(name)                                                                        \
	uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) \
	{                                                                                     \
		return 0;                                                                     \
	}
RUN_HOOK(futrace_hook_run)
RUN_HOOK(futrace_hook_run_named)

const hook_fn hook_wake[CORE_MAX_WAKERS], hook_wake_by_ref[CORE_MAX_WAKERS];
const char hook_type_wakers[2 * CORE_MAX_TYPE_WAKERS * HOOK_THUNK_BYTES];

static const char root_hook;
static struct root_waker root_waker = { .wake_hook = &root_hook, .wake_by_ref_hook = &root_hook };

struct root_waker *root_waker_take(uint64_t addr)
{
	return &root_waker;
}

bool root_waker_is_hook(uint64_t word)
{
	return word == (uint64_t)&root_hook;
}

static const struct wire_table *labelled;

void probes_set_type(const struct core_table *table, const struct wire_table *plan)
{
	labelled = plan;
}

static const char stubs[4];
static struct {
	uint32_t index;
	uint64_t poll;
} set;

const void *future_stub(uint32_t index)
{
	return &stubs[index];
}

bool future_is_stub(uint64_t word)
{
	return word - (uint64_t)stubs < sizeof(stubs);
}

void future_set(uint32_t index, const struct wire_future *plan, uint64_t addr, uint64_t poll)
{
	set.index = index;
	set.poll = poll;
}

static uint64_t *page;
static ElfW(Phdr) segment;
static struct patch_object object;

static int set_up(void **state)
{
	world_init();
	page = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	segment = (ElfW(Phdr)){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = WIRE_PAGE, .p_memsz = WIRE_PAGE
	};
	object = (struct patch_object){ (uint64_t)page, &segment, 1 };
	return 0;
}

static int tear_down_page(void **state)
{
	munmap(page, WIRE_PAGE);
	return tear_down(state);
}

/* The plan of a table at the beginning of the page: eight functions at va 0x1000, 0x1010 …  */
static struct wire_table make_plan(unsigned kind)
{
	struct wire_table t = { .kind = kind, .nr_words = 8, .code_mask = 0xff, .type = 5 };

	for (unsigned i = 0; i < t.nr_words; i++)
		t.words[i] = 0x1000 + 16 * i;
	if (wire_is_task_table(kind)) {
		t.slot_schedule = 1;
		t.slot_dealloc = 2;
		t.slot_shutdown = 3;
		t.slot_wake = t.slot_wake_by_ref = t.slot_abort = WIRE_NO_SLOT;
		t.vtable_off = 16;
		t.id_off = 32;
		t.stage_off = 40;
		t.trailer_off = 300;
		t.scheduler_off = 24;
	} else {
		t.slot_poll = t.slot_schedule = t.slot_dealloc = t.slot_shutdown = WIRE_NO_SLOT;
		t.slot_wake = 1;
		t.slot_wake_by_ref = 2;
		if (kind == WIRE_TABLE_ASYNC_TASK_WAKER)
			t.slot_dealloc = 3;
	}
	return t;
}

static void write_table(const struct wire_table *t)
{
	mprotect(page, WIRE_PAGE, PROT_READ | PROT_WRITE);
	for (unsigned i = 0; i < t->nr_words; i++)
		page[i] = t->words[i] + (uint64_t)page;
	mprotect(page, WIRE_PAGE, PROT_READ);
}

static struct patch_result patch(const struct wire_table *t)
{
	struct patch_result r = { 0 };

	patch_tables(&object, t, 1, &r);
	assert_int_equal(r.nr_hooked + r.nr_refused, 1);
	return r;
}

/* Nothing that is not right is touched, of whatever kind. */
static void test_refused(void **state)
{
	static const uint8_t kinds[] = { 0,
					 WIRE_TABLE_TOKIO,
					 WIRE_TABLE_TOKIO_WAKER,
					 WIRE_TABLE_ASYNC_TASK,
					 WIRE_TABLE_ASYNC_TASK_WAKER,
					 WIRE_TABLE_TOKIO_TYPE_WAKER,
					 WIRE_TABLE_TOKIO_ROOT_WAKER,
					 UNKNOWN };

	for (unsigned i = 0; i < sizeof(kinds); i++) {
		struct wire_table t = make_plan(kinds[i]), wrong;
		uint64_t before[8];

		write_table(&t);
		memcpy(before, page, sizeof(before));
		wrong = t;
		wrong.words[7]++; /* a slot that no hook goes into */
		assert_int_equal(patch(&wrong).nr_hooked, 0);
		wrong = t;
		wrong.va = WIRE_PAGE - 8; /* not all of it in the object */
		assert_int_equal(patch(&wrong).nr_hooked, 0);
		wrong = t;
		wrong.nr_words = WIRE_TABLE_WORDS + 1;
		assert_int_equal(patch(&wrong).nr_hooked, 0);
		wrong = t;
		wrong.code_mask = 0xf0; /* what is to be hooked is no code */
		assert_int_equal(patch(&wrong).nr_hooked, 0);
		if (!kinds[i] || kinds[i] == UNKNOWN)
			assert_int_equal(patch(&t).nr_hooked, 0);
		assert_memory_equal(page, before, sizeof(before));
	}
}

static void test_tokio(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_TOKIO);
	const struct core_table *entry;
	struct patch_result r;

	write_table(&t);
	r = patch(&t);
	assert_int_equal(r.nr_hooked, 1);
	assert_ptr_equal(r.hooked, page);
	assert_true(patch_is_run_hook(page[0]));
	assert_int_equal(page[0], (uint64_t)futrace_hook_poll);
	assert_int_equal(page[1], (uint64_t)futrace_hook_schedule);
	assert_int_equal(page[3], (uint64_t)futrace_hook_shutdown);
	assert_int_equal(page[2], (uint64_t)page + t.words[2]);
	entry = core_table_find((uint64_t)page, false);
	assert_int_equal(entry->poll, (uint64_t)page + t.words[0]);
	assert_int_equal(entry->schedule, (uint64_t)page + t.words[1]);
	assert_int_equal(entry->scheduler_off, 24);
	assert_true(core_is_task_size(384));
	assert_int_equal(page[4], (uint64_t)page + t.words[4]);
	t.type = 6; /* announced once more, with another number */
	assert_int_equal(patch(&t).nr_hooked, 1);
	assert_int_equal(entry->type_word, EVENT_WORD1(0, 6));
	t.words[0] += 16; /* another table than the one that we hooked */
	assert_int_equal(patch(&t).nr_hooked, 0);
}

/* The slot by which a JoinHandle is dropped, where the plan has one. */
static void test_tokio_detach(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_TOKIO);
	const struct core_table *entry;

	t.slot_detach = 9; /* no function */
	write_table(&t);
	assert_int_equal(patch(&t).nr_hooked, 0);
	t.slot_detach = 4;
	assert_int_equal(patch(&t).nr_hooked, 1);
	entry = core_table_find((uint64_t)page, false);
	assert_int_equal(page[4], (uint64_t)futrace_hook_detach);
	assert_int_equal(core_detaches[entry - core_tables], (uint64_t)page + t.words[4]);
}

static void test_tokio_placed(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_TOKIO);

	t.stage_off = t.id_off + 16;
	write_table(&t);
	assert_int_equal(patch(&t).nr_hooked, 1);
	assert_int_equal(page[0], (uint64_t)futrace_hook_poll_placed);
	assert_true(patch_is_run_hook(page[0]));
}

/* Before 1.23: an abort slot, or none, instead of schedule. */
static void test_tokio_old(void **state)
{
	for (unsigned abort = 4; abort <= WIRE_NO_SLOT; abort += WIRE_NO_SLOT - 4) {
		struct wire_table t = make_plan(WIRE_TABLE_TOKIO);

		t.id_off = 0;
		t.slot_schedule = WIRE_NO_SLOT;
		t.slot_abort = abort;
		write_table(&t);
		memset(core_tables, 0, sizeof(core_tables));
		assert_int_equal(patch(&t).nr_hooked, 1);
		assert_null(core_table_find((uint64_t)page, false));
		assert_non_null(core_table_find((uint64_t)page | CORE_OLD, false));
		assert_int_equal(page[0], (uint64_t)futrace_hook_poll);
		assert_int_equal(page[4], abort == 4 ? (uint64_t)futrace_hook_abort
						     : (uint64_t)page + t.words[4]);
		assert_int_equal(patch(&t).nr_hooked, 1);
	}
}

static void test_async_task(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_ASYNC_TASK);

	write_table(&t);
	assert_int_equal(patch(&t).nr_hooked, 1);
	assert_int_equal(page[0], (uint64_t)futrace_hook_run);
	assert_int_equal(page[1], (uint64_t)futrace_hook_schedule_task);
	assert_int_equal(page[3], (uint64_t)futrace_hook_drop_future);
	assert_int_equal(core_table_find((uint64_t)page, false)->state_off, 0);
	assert_false(core_is_task_size(384)); /* its spawns are told of otherwise */
}

/* Where tasks have numbers and names of their own, other hooks tell them. */
static void test_async_task_named(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_ASYNC_TASK);

	t.own_name.has_number = 1;
	write_table(&t);
	assert_int_equal(patch(&t).nr_hooked, 1);
	assert_int_equal(page[0], (uint64_t)futrace_hook_run_named);
	assert_int_equal(page[1], (uint64_t)futrace_hook_schedule_task);
	assert_int_equal(page[3], (uint64_t)futrace_hook_drop_named);
}

/* Wakers of tasks that are not recorded stay as they are. */
static void test_async_task_refused(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_ASYNC_TASK);
	struct wire_table waker = make_plan(WIRE_TABLE_ASYNC_TASK_WAKER);

	waker.words[0] = t.words[6];
	write_table(&waker);
	assert_int_equal(patch(&t).nr_refused, 1);
	assert_int_equal(patch(&waker).nr_refused, 1);
	assert_int_equal(page[1], (uint64_t)page + waker.words[1]);
}

/* Both slots of each kind of waker table, of async-task's the drop as well, and no other; the
 * second time it is known, or refused. */
static void test_wakers(void **state)
{
	static const unsigned kinds[] = { WIRE_TABLE_TOKIO_WAKER, WIRE_TABLE_ASYNC_TASK_WAKER,
					  WIRE_TABLE_TOKIO_TYPE_WAKER,
					  WIRE_TABLE_TOKIO_ROOT_WAKER };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct wire_table t = make_plan(kinds[i]);
		uint64_t hooked[8];

		t.words[0] += 0x10000 * i; /* clone of other tasks */
		write_table(&t);
		assert_int_equal(patch(&t).nr_hooked, 1);
		for (unsigned k = 0; k < t.nr_words; k++)
			assert_int_equal(page[k] != (uint64_t)page + t.words[k],
					 k == 1 || k == 2 || k == t.slot_dealloc);
		memcpy(hooked, page, sizeof(hooked));
		assert_int_equal(patch(&t).nr_hooked, kinds[i] != WIRE_TABLE_TOKIO_WAKER);
		assert_memory_equal(page, hooked, sizeof(hooked));
	}
	assert_int_equal(core_wakers[0].wake, (uint64_t)page + 0x1010);
	assert_int_equal(core_type_wakers[0].wake_by_ref, (uint64_t)page + 0x1020);
	assert_int_equal((uint64_t)root_waker.wake, (uint64_t)page + 0x1010);
}

/* A forked child has the hooks: types are renewed, nothing is written. */
static void test_again(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_TOKIO), odd = make_plan(UNKNOWN);
	struct patch_result r = { 0 };

	write_table(&t);
	patch_tables_again((uint64_t)page, &t, 1, &r);
	assert_int_equal(r.nr_refused, 1);
	assert_int_equal(patch(&t).nr_hooked, 1);
	t.type = 9;
	patch_tables_again((uint64_t)page, &t, 1, &r);
	patch_tables_again((uint64_t)page, &odd, 1, &r);
	assert_int_equal(r.nr_hooked, 1);
	assert_int_equal(r.nr_refused, 2);
	assert_int_equal(core_table_find((uint64_t)page, false)->type_word, EVENT_WORD1(0, 9));
}

/* The slot of poll leads to the stub of a future whose function is left alone; all else stays. */
static void test_future(void **state)
{
	struct wire_table t = make_plan(WIRE_TABLE_FUTURE);
	struct wire_future *plan = &core_page.region->futures[2];

	t.slot_wake = t.slot_wake_by_ref = WIRE_NO_SLOT;
	t.slot_poll = 3;
	t.id_off = 2;
	write_table(&t);
	assert_int_equal(patch(&t).nr_refused, 1); /* no such future */
	plan->redirect.kind = WIRE_FUTURE;
	plan->redirect.nr_bytes = 5;
	assert_int_equal(patch(&t).nr_refused, 1); /* it is redirected */
	plan->redirect.nr_bytes = 0;
	t.id_off = WIRE_MAX_FUTURES;
	assert_int_equal(patch(&t).nr_refused, 1);
	t.id_off = 2;
	assert_int_equal(patch(&t).nr_hooked, 1);
	assert_int_equal(page[3], (uint64_t)&stubs[2]);
	assert_int_equal(page[2], t.words[2] + (uint64_t)page);
	assert_int_equal(set.index, 2);
	assert_int_equal(set.poll, t.words[3] + (uint64_t)page);
	set.index = 0;
	assert_int_equal(patch(&t).nr_hooked, 1); /* as it is */
	assert_int_equal(set.index, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down_page)
	const struct CMUnitTest tests[] = {
		TEST(refused),	 TEST(tokio),	   TEST(tokio_detach),	   TEST(tokio_placed),
		TEST(tokio_old), TEST(async_task), TEST(async_task_named), TEST(async_task_refused),
		TEST(wakers),	 TEST(again),	   TEST(future),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
