// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Root futures, by the hooks of the functions that they pass through: what cannot be told of them
 * is counted, and what is not seen to end ends with the run around it.
 */
#include "agent/fast.h"
#include "agent/redirect.h"
#include "agent/root_future.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "world.h"

enum { BEGIN, END, PARK, UNPARK };
enum { NR_GROUP = 8, TYPE = 5 };

typedef uint64_t (*called_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct redirect redirects[WIRE_MAX_REDIRECTS];
static pthread_barrier_t all_parked, all_woken;

/* ---- what the hooks ask for ---- */

uint32_t stack_take(const uint64_t *frame)
{
	return WIRE_NO_STACK;
}

/* The stack of whoever asks, and what is near enough to be on it. */
bool stack_holds(uint64_t frame, uint64_t addr)
{
	return addr - frame < 1 << 20;
}

void root_future_find(struct root_future *f, const uint64_t *frame, uint64_t outermost)
{
	*f = (struct root_future){ 0 };
}

uint16_t root_future_type(const uint64_t *frame, uint64_t end)
{
	return EVENT_TYPE_NONE;
}

uint64_t root_future_path(struct root_future *f)
{
	return 0;
}

/* ---- the functions of the runtime ---- */

static void returns(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
}

static void parks(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	pthread_barrier_wait(&all_parked);
	pthread_barrier_wait(&all_woken);
}

static __attribute__((noinline)) void call(unsigned i, uint64_t arg)
{
	((called_fn)root_hooks[i])(arg, 0, 0, 0, 0, 0);
}

static int set_up(void **state)
{
	static const uint8_t kinds[] = { WIRE_ROOT_BEGIN, WIRE_ROOT_END, WIRE_ROOT_PARK,
					 WIRE_ROOT_UNPARK };

	world_init();
	for (unsigned i = 0; i < sizeof(kinds); i++)
		redirects[i] = (struct redirect){ .moved = i == PARK ? parks : returns,
						  .kind = kinds[i],
						  .type = TYPE };
	return 0;
}

/* ---- rings ---- */

/* Takes the events of a ring: runs, wakes and losses, one letter each. */
static void take_all(struct wire_thread *t, char letters[128])
{
	uint64_t words[5];
	unsigned kind;

	while ((kind = take_event(t, words))) {
		if (kind == EV_RUN_START)
			*letters++ = '(';
		else if (kind == EV_RUN_END)
			*letters++ = ')';
		else if (kind == EV_WAKE)
			*letters++ = 'w';
		else if (kind == EV_LOST)
			*letters++ = 'L';
	}
	*letters = '\0';
}

/* ---- tests ---- */

struct waiter {
	uint64_t parker;
	char events[128];
	uint32_t nr_lost;
};

static void *wait_once(void *arg)
{
	struct waiter *w = arg;
	uint64_t guard[64]; /* where the thread entered its runtime, or above */

	call(BEGIN, UINT64_C(1) << 40);
	call(PARK, w->parker);
	call(END, (uint64_t)&guard[63]);
	take_all(mine, w->events);
	w->nr_lost = mine->lost[EV_WAKE];
	return NULL;
}

/* An address that the agent keeps beside the others. */
static uint64_t next_parker(uint64_t addr)
{
	do
		addr += 16;
	while (addr * UINT64_C(0x9e3779b97f4a7c15) >> 52 != 7);
	return addr;
}

/* Who wakes a root is told, as long as there is room to know what it waits for; then it counts as
 * lost, before the root runs again. */
static void test_no_room(void **state)
{
	struct waiter waiters[NR_GROUP + 1] = { 0 };
	pthread_t threads[NR_GROUP + 1];
	uint64_t addr = UINT64_C(1) << 32;
	unsigned nr_lost = 0;
	char events[128];

	pthread_barrier_init(&all_parked, NULL, NR_GROUP + 2);
	pthread_barrier_init(&all_woken, NULL, NR_GROUP + 2);
	for (unsigned i = 0; i <= NR_GROUP; i++) {
		waiters[i].parker = addr = next_parker(addr);
		pthread_create(&threads[i], NULL, wait_once, &waiters[i]);
	}
	pthread_barrier_wait(&all_parked);
	for (unsigned i = 0; i <= NR_GROUP; i++)
		call(UNPARK, waiters[i].parker);
	pthread_barrier_wait(&all_woken);
	for (unsigned i = 0; i <= NR_GROUP; i++) {
		pthread_join(threads[i], NULL);
		assert_string_equal(waiters[i].events, waiters[i].nr_lost ? "()L()" : "()()");
		nr_lost += waiters[i].nr_lost;
	}
	assert_int_equal(nr_lost, 1);
	take_all(mine, events);
	assert_string_equal(events, "wwwwwwww");

	/* they wait no more */
	call(UNPARK, waiters[0].parker);
	take_all(mine, events);
	assert_string_equal(events, "");
}

static __attribute__((noinline)) void nest(unsigned depth)
{
	volatile uint64_t guard[16];

	call(BEGIN, UINT64_C(1) << 40);
	if (depth > 1)
		nest(depth - 1);
	call(END, (uint64_t)&guard[15]);
}

/* Roots inside of roots are told as deep as there is room for them; others are counted. */
static void test_nested(void **state)
{
	char events[128];

	nest(11);
	take_all(mine, events);
	assert_string_equal(events, "(((((((())))))))");
	assert_int_equal(mine->lost[EV_SPAWN], 3);
	nest(1);
	take_all(mine, events);
	assert_string_equal(events, "L()");
}

static __attribute__((noinline)) void begin_only(void)
{
	call(BEGIN, UINT64_C(1) << 40);
}

/* One whose end is not seen ends with the run around it. */
static void test_unseen_end(void **state)
{
	static uint64_t table[8];
	struct fake_task {
		uint64_t state, next, vtable, owner, scheduler, id;
	} task = { .state = 3 * TOKIO_REF, .vtable = (uint64_t)table, .id = 1 };
	struct core_current current;
	char events[128];

	*core_table_find((uint64_t)table, true) =
		(struct core_table){ .id_off = offsetof(struct fake_task, id),
				     .scheduler_off = offsetof(struct fake_task, scheduler),
				     .addr = (uint64_t)table };
	for (unsigned i = 0; i < 2 * NR_GROUP; i++) {
		struct core_entry e = core_enter((uint64_t)&task, CORE_POLL, mine);

		begin_only();
		core_leave(&e, mine);
		take_all(mine, events);
		assert_string_equal(events, "(())");
	}
	assert_false(core_get_current(&current));
	assert_int_equal(mine->lost[EV_RUN_END], 0);
	assert_int_equal(mine->lost[EV_SPAWN], 0);
}

/* So many runs are left for ever that the thread forgets what is open: its root is seen on. */
static void test_forgotten(void **state)
{
	static uint64_t table[8];
	struct fake_task {
		uint64_t state, next, vtable, owner, scheduler, id;
	} task = { .state = 3 * TOKIO_REF, .vtable = (uint64_t)table, .id = 1 };
	uint64_t guard[16], forgotten;
	char events[1024];

	*core_table_find((uint64_t)table, true) =
		(struct core_table){ .id_off = offsetof(struct fake_task, id),
				     .scheduler_off = offsetof(struct fake_task, scheduler),
				     .addr = (uint64_t)table };
	redirects[PARK].moved = returns;
	begin_only();
	forgotten = mine->nr_forgotten;
	while (mine->nr_forgotten == forgotten) {
		core_enter((uint64_t)&task, CORE_POLL, mine);
		take_all(mine, events);
	}
	/* as if the last of them had ended */
	mine->top = mine->top / WIRE_RUNS_BYTES * WIRE_RUNS_BYTES;
	call(PARK, 0x1000);
	take_all(mine, events);
	assert_string_equal(events, "(");
	call(END, (uint64_t)&guard[15]);
	take_all(mine, events);
	assert_string_equal(events, ")");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nested, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unseen_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgotten, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("agent/roots", tests, NULL, NULL);
}
