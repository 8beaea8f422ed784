// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks of async-task in the agent's core: how the header is read, what is written, and who has
 * which duty when our reference is given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "agent/async_task.h"
#include "world.h"

#define TYPE	  3
#define SCHEDULED 1
#define RUNNING	  2
#define COMPLETED 4
#define CLOSED	  8
#define TASK	  16
#define REF	  256
#define HEADER	  40
#define SIZE	  96

static uint64_t fake_table[8];

/* The header as today's compiler makes it, or in the order of the source (is_old). */
enum order { VTABLE_FIRST, STATE_FIRST, AWAITER_FIRST, NR_ORDERS };

struct fake_task {
	uint64_t words[SIZE / 8];
	enum order order;
};

static uint64_t *state_of(struct fake_task *t)
{
	static const uint8_t words[] = { 1, 0, 2 };

	return &t->words[words[t->order]];
}

static struct fake_task make_task(uint64_t state, enum order order)
{
	struct fake_task t = { .order = order };

	if (order == AWAITER_FIRST) /* not written before there is one: it may be anything */
		t.words[0] = SCHEDULED | TASK | 5 * REF;
	t.words[order == VTABLE_FIRST ? 0 : 3] = (uint64_t)fake_table;
	*state_of(&t) = state;
	return t;
}

static int set_up(void **state)
{
	struct core_table *table;
	struct async_waker *w;

	world_init();
	table = core_table_find((uint64_t)fake_table, true);
	*table = (struct core_table){ .id_off = HEADER,
				      .stage_off = 48,
				      .trailer_off = SIZE,
				      .type_word = EVENT_WORD1(0, TYPE),
				      .addr = (uint64_t)fake_table };
	fake_table[6] = 0x4711;
	w = async_waker_find(0x4711, true);
	*w = (struct async_waker){ .clone = 0x4711, .wake = 1, .wake_by_ref = 2 };
	core_awake(core_sleep(0));
	mine->tail = mine->head;
	return 0;
}

/* The next event: kind and flags, and its task where it has one. */
static unsigned take(unsigned *flags, uint64_t *task)
{
	const uint64_t *at = (uint64_t *)(mine->bias + mine->tail * 8);
	unsigned kind = at[0] & 31;

	if (mine->tail == mine->head)
		return 0;
	*flags = at[0] >> EVENT_KIND_BITS & 31;
	*task = kind == EV_RUN_END || kind == EV_PANIC ? 0 : at[1];
	mine->tail += kind == EV_RUN_END || kind == EV_PANIC ? 1 : kind == EV_WAKE ? 2 : 3;
	return kind;
}

#define assert_event(kind, wanted_flags, wanted_task)               \
	do {                                                        \
		unsigned flags_;                                    \
		uint64_t task_;                                     \
		assert_int_equal(take(&flags_, &task_), EV_##kind); \
		assert_int_equal(flags_, wanted_flags);             \
		assert_int_equal(task_, wanted_task);               \
	} while (0)

static uint64_t named(const struct fake_task *t)
{
	return (uint64_t)t | EVENT_WORD1(0, TYPE);
}

/* A run, after which the state is `after`. */
static enum async_last run(struct fake_task *t, uint64_t after, bool was_woken)
{
	struct async_run r;

	async_enter(&r, (uint64_t)t, false);
	*state_of(t) = after;
	r.has_returned = true;
	r.was_woken = was_woken;
	return async_leave(&r);
}

/* The state is found in every order of fields, a poll leaves it as it was, and nothing else is
 * changed. */
static void test_poll(void **state)
{
	for (enum order order = VTABLE_FIRST; order < NR_ORDERS; order++) {
		struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, order);
		uint64_t first = t.words[0];

		core_table_find((uint64_t)fake_table, false)->state_off = 0;
		assert_int_equal(run(&t, TASK | 2 * REF, false), ASYNC_NOT_LAST);
		assert_int_equal(*state_of(&t), TASK | REF);
		assert_event(RUN_START, 0, named(&t));
		assert_event(RUN_END, EF_END_WANTED, 0);
		if (order == AWAITER_FIRST)
			assert_int_equal(t.words[0], first);
	}
}

/* What does not look like the state of a queued task is never touched. */
static void test_doubtful_state(void **state)
{
	/* an address; a number of the program's own that ends in 001 */
	static const uint64_t others[] = { 0x7fff12345678, 0x1234567801 };

	for (unsigned i = 0; i < 2; i++) {
		struct fake_task t = make_task(others[i], VTABLE_FIRST);
		struct async_run r;

		core_table_find((uint64_t)fake_table, false)->state_off = 0;
		async_enter(&r, (uint64_t)&t, false);
		assert_null(r.slot);
		assert_int_equal(*state_of(&t), others[i]);
		assert_int_equal(async_leave(&r), ASYNC_NOT_LAST);
		assert_int_equal(mine->tail, mine->head);
	}
}

/* Where nothing is recorded, a run holds its task for probes alone; and gives it back even if they
 * find that it is none of theirs. */
static void test_watched(void **state)
{
	struct wire_thread *threads = core_page.threads;

	for (int is_theirs = 0; is_theirs <= 1; is_theirs++) {
		struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
		struct async_run r;

		core_page.threads = NULL;
		async_enter(&r, (uint64_t)&t, ASYNC_WATCHED);
		assert_null(r.slot);
		assert_int_equal(*state_of(&t), SCHEDULED | TASK | 3 * REF);
		r.is_watched = is_theirs;
		r.has_returned = true;
		*state_of(&t) = TASK | 2 * REF;
		assert_int_equal(async_leave(&r), ASYNC_NOT_LAST);
		assert_int_equal(*state_of(&t), TASK | REF);
		core_page.threads = threads;
	}
}

/* A task that is closed while it is queued is not polled any more, whether that is looked at for a
 * recording, for probes, or for nobody. */
static void test_will_poll(void **state)
{
	struct wire_thread *threads = core_page.threads;

	for (int closed = 0; closed <= 1; closed++) {
		for (int how = 0; how < 3; how++) {
			struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
			struct async_run r;

			core_page.threads = how == 0 ? threads : NULL;
			async_table_of((uint64_t)&t);
			*state_of(&t) |= closed ? CLOSED : 0;
			async_enter(&r, (uint64_t)&t, how == 1 ? ASYNC_WATCHED : 0);
			assert_int_equal(async_will_poll(&r), !closed);
			r.has_returned = true;
			async_leave(&r);
			core_page.threads = threads;
		}
	}
}

static void test_ends(void **state)
{
	struct fake_task t = make_task(SCHEDULED | TASK | REF, VTABLE_FIRST);

	/* completed, wanted; then nobody wants it, and ours is the last reference */
	assert_int_equal(run(&t, COMPLETED | TASK | REF, false), ASYNC_NOT_LAST);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE | EF_END_WANTED, 0);
	t = make_task(SCHEDULED | REF, VTABLE_FIRST);
	assert_int_equal(run(&t, COMPLETED | CLOSED | REF, false), ASYNC_DESTROY);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE, 0);
	/* closed while it ran; but one that is queued again because it is closed goes on */
	t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
	run(&t, CLOSED | TASK | 2 * REF, false);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE | EF_END_CANCELLED, 0);
	t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
	run(&t, SCHEDULED | CLOSED | TASK | 3 * REF, false);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_WANTED, 0);
	/* woken while it ran: what is complete now became so in a later run */
	t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
	run(&t, COMPLETED | TASK | 2 * REF, true);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_NOTIFIED, 0);
}

/* Closed before: its future is dropped, and no reference is held. */
static void test_drop(void **state)
{
	struct fake_task t = make_task(SCHEDULED | CLOSED | 2 * REF, VTABLE_FIRST);
	struct async_run r;

	async_enter(&r, (uint64_t)&t, false);
	assert_int_equal(*state_of(&t), SCHEDULED | CLOSED | 2 * REF);
	r.has_returned = true;
	assert_int_equal(async_leave(&r), ASYNC_NOT_LAST);
	assert_event(RUN_START, EF_RUN_DROP, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE, 0);
	async_enter(&r, (uint64_t)&t, true);
	r.has_returned = true;
	async_leave(&r);
	assert_event(RUN_START, EF_RUN_DROP | EF_RUN_SHUTDOWN, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE, 0);
}

/* A panic unwinds: the hook's cleanup ends the run. */
static void test_panic(void **state)
{
	struct fake_task t = make_task(SCHEDULED | 2 * REF, VTABLE_FIRST);
	struct async_run r;

	async_enter(&r, (uint64_t)&t, false);
	*state_of(&t) = CLOSED | 2 * REF;
	async_leave(&r);
	assert_int_equal(*state_of(&t), CLOSED | REF);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE | EF_END_PANICKED, 0);
}

static unsigned flags_of_panic(uint8_t propagate, uint64_t after, bool is_output)
{
	struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
	uint64_t *output = &t.words[48 / 8], task;
	struct async_run r;
	unsigned flags = 0;

	memcpy((char *)t.words + 32, &propagate, 1);
	async_enter(&r, (uint64_t)&t, false);
	core_panic(0x111, 0x222, true);
	output[0] = is_output ? 0x111 : 0;
	output[1] = is_output ? 0x222 : 0;
	*state_of(&t) = COMPLETED | after | 3 * REF;
	r.has_returned = true;
	async_leave(&r);
	assert_int_equal(take(&flags, &task), EV_RUN_START);
	assert_int_equal(take(&flags, &task), EV_PANIC);
	assert_int_equal(take(&flags, &task), EV_RUN_END);
	return flags & EF_END_PANICKED;
}

/* A panic that the task keeps is its output, or was; a flag that is none proves nothing. */
static void test_kept_panic(void **state)
{
	assert_true(flags_of_panic(1, TASK, true));
	assert_true(flags_of_panic(1, CLOSED, false));
	assert_false(flags_of_panic(1, TASK, false));
	assert_false(flags_of_panic(0, TASK, true));
	assert_false(flags_of_panic(0, CLOSED, false));
	assert_true(flags_of_panic(77, TASK, true));
	assert_false(flags_of_panic(77, TASK, false));
	assert_false(flags_of_panic(77, CLOSED, false));
}

/*
 * Nobody else knows a task that waits: async-task destroys it at once, and so do we, since our
 * reference kept it from that.
 */
static void test_unreachable(void **state)
{
	struct fake_task t = make_task(SCHEDULED | REF, VTABLE_FIRST);

	assert_int_equal(run(&t, REF, false), ASYNC_DESTROY);
	assert_event(RUN_START, 0, named(&t));
	assert_event(RUN_END, EF_END_COMPLETE | EF_END_CANCELLED, 0);
}

static void *drop_waker(void *task)
{
	async_drop_waker((uint64_t)task);
	*state_of(task) -= REF;
	return NULL;
}

/*
 * The last waker, or the Task, goes right after the run gave its own reference back, and before we
 * look: without us the task would be queued once more, so that its future is dropped.
 */
static void test_window(void **state)
{
	struct fake_task t = make_task(SCHEDULED | REF, VTABLE_FIRST);
	struct async_run r;
	pthread_t thread;

	async_enter(&r, (uint64_t)&t, 0);
	*state_of(&t) = 2 * REF; /* the waker's and ours */
	r.has_returned = true;
	pthread_create(&thread, NULL, drop_waker, &t);
	pthread_join(thread, NULL);
	assert_int_equal(*state_of(&t), REF);
	assert_int_equal(async_leave(&r), ASYNC_SCHEDULE);
	assert_int_equal(*state_of(&t), SCHEDULED | CLOSED | REF);

	t = make_task(SCHEDULED | TASK | REF, VTABLE_FIRST);
	assert_int_equal(run(&t, REF, false), ASYNC_SCHEDULE);
}

/* A waker that the poll itself drops, or that went before the run, leaves a task that nobody knows:
 * async-task destroys it. */
static void test_no_window(void **state)
{
	struct fake_task t = make_task(SCHEDULED | 2 * REF, VTABLE_FIRST);
	struct async_run r;
	pthread_t thread;

	pthread_create(&thread, NULL, drop_waker, &t);
	pthread_join(thread, NULL);
	async_enter(&r, (uint64_t)&t, 0);
	*state_of(&t) = 3 * REF | RUNNING;
	drop_waker(&t);
	*state_of(&t) = REF;
	r.has_returned = true;
	assert_int_equal(async_leave(&r), ASYNC_DESTROY);
}

/* A runnable that is scheduled for the first time, and one that is to be dropped. */
static void test_schedule(void **state)
{
	struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);

	assert_ptr_equal(async_schedule((uint64_t)&t, WIRE_NO_STACK),
			 core_table_find((uint64_t)fake_table, false));
	assert_event(SPAWN, 0, (uint64_t)&t);
	*state_of(&t) |= CLOSED;
	async_schedule((uint64_t)&t, WIRE_NO_STACK);
	assert_event(WAKE, EF_WAKE_ABORT, named(&t));
}

static void test_wake(void **state)
{
	struct fake_task t = make_task(SCHEDULED | TASK | REF, VTABLE_FIRST);
	struct async_run r;

	/* before the first run nothing is known of the header; the wake goes on all the same */
	assert_int_equal(async_wake((uint64_t)&t)->wake, 1);
	async_schedule((uint64_t)&t, WIRE_NO_STACK);
	assert_event(SPAWN, 0, (uint64_t)&t);
	assert_int_equal(async_wake((uint64_t)&t)->wake_by_ref, 2); /* it is queued */
	*state_of(&t) = COMPLETED | TASK | REF;
	async_wake((uint64_t)&t);
	*state_of(&t) = CLOSED | TASK | REF;
	async_wake((uint64_t)&t);
	assert_int_equal(mine->tail, mine->head);
	*state_of(&t) = TASK | REF;
	async_wake((uint64_t)&t);
	assert_event(WAKE, EF_WAKE_TRIED, named(&t));
	*state_of(&t) = RUNNING | TASK | REF;
	async_wake((uint64_t)&t);
	assert_event(WAKE, EF_WAKE_TRIED | EF_WAKE_RUNNING, named(&t));
	/* by itself */
	*state_of(&t) = SCHEDULED | TASK | REF;
	async_enter(&r, (uint64_t)&t, false);
	assert_event(RUN_START, 0, named(&t));
	*state_of(&t) = RUNNING | TASK | 2 * REF;
	async_wake((uint64_t)&t);
	assert_int_equal(mine->tail, mine->head);
	r.has_returned = true;
	async_leave(&r);
}

/* What the ring has next, of an event of nr_words. */
static const uint64_t *take_words(unsigned nr_words)
{
	const uint64_t *at = (uint64_t *)(mine->bias + mine->tail * 8);

	mine->tail += nr_words;
	assert_true(mine->tail <= mine->head);
	return at;
}

static void assert_own_name(uint64_t number, const char *name, bool is_cut)
{
	const uint64_t *at = take_words(EVENT_WORDS_TASK_NUMBER);
	size_t len = strlen(name);

	assert_int_equal(at[0] & 31, EV_TASK_NUMBER);
	assert_int_equal(at[2], number);
	for (size_t i = 0; i < len; i += 16) {
		bool is_last = len - i <= 16;
		char piece[17] = "";

		at = take_words(EVENT_WORDS_TASK_NAME);
		memcpy(piece, at + 2, 16);
		assert_int_equal(at[0] & 31, EV_TASK_NAME);
		assert_int_equal(at[0] >> EVENT_KIND_BITS & 31,
				 is_last && !is_cut ? 0 : EF_NAME_MORE);
		assert_int_equal(strncmp(piece, name + i, 16), 0);
	}
}

/* Number and name are told once, from the task itself or from behind a box. */
static void test_own_name(void **state)
{
	struct {
		uint64_t counts[2], cap, text, len;
	} string = { .text = (uint64_t) "connection 4711 of somebody", .len = 27 };
	struct wire_own_name own = { .has_number = 1,
				     .has_name = 1,
				     .text_off = offsetof(typeof(string), text),
				     .len_off = offsetof(typeof(string), len),
				     .number_off = 64,
				     .name_off = 72 };
	const struct core_table *table = core_table_find((uint64_t)fake_table, false);
	struct fake_task t = make_task(SCHEDULED | TASK | 2 * REF, VTABLE_FIRST);
	uint64_t future[2] = { 12, 0 }, tail;
	char text[200] = { 0 };

	async_set_own_name(table, &own);
	t.words[8] = 11;
	t.words[9] = (uint64_t)&string;
	async_tell_own_name((uint64_t)&t);
	assert_own_name(11, "connection 4711 of somebody", false);
	tail = mine->head;
	async_tell_own_name((uint64_t)&t);
	assert_int_equal(mine->head, tail);

	own.box_off = 48;
	own.number_off = 0;
	own.name_off = 8;
	async_set_own_name(table, &own);
	t.words[6] = (uint64_t)future;
	async_tell_own_name((uint64_t)&t);
	assert_own_name(12, "", false);

	memset(text, 'x', sizeof(text) - 1);
	string.text = (uint64_t)text;
	string.len = sizeof(text) - 1;
	future[0] = 13;
	future[1] = (uint64_t)&string;
	async_tell_own_name((uint64_t)&t);
	text[128] = '\0';
	assert_own_name(13, text, true);
	assert_int_equal(mine->tail, mine->head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_poll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_doubtful_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_watched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_will_poll, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_panic, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kept_panic, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreachable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_window, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_schedule, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_own_name, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
