// SPDX-License-Identifier: MIT OR Apache-2.0
/* The probes of Tokio on made-up tasks: what is fired, in which order, and for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "probes_world.h"

#define IDLE	(2 * TOKIO_REF | TOKIO_JOIN_INTEREST)
#define QUEUED	(IDLE | TOKIO_NOTIFIED)
#define RUNNING (IDLE | TOKIO_RUNNING)
#define OVER	(IDLE | TOKIO_COMPLETE)

/* As in core.c; where tasks keep the place of their spawn the future begins a word later. */
struct fake_task {
	uint64_t state, next, vtable, owner, scheduler, id, place, stage[2];
};

#define NR_TABLES 4
static uint64_t fake_tables[NR_TABLES + 3][10];
enum { PLACES = NR_TABLES, CLOSURES, OLD };

static void make_table(unsigned nr, unsigned id_off, unsigned stage_off, enum wire_task_kind kind)
{
	struct core_table *t = core_table_find((uint64_t)fake_tables[nr], true);

	*t = (struct core_table){ .id_off = id_off,
				  .stage_off = stage_off,
				  .trailer_off = sizeof(struct fake_task),
				  .type_word = EVENT_WORD1(0, nr),
				  .addr = (uint64_t)fake_tables[nr] };
	probes_set_type(t,
			&(struct wire_table){
				.name = NAME_AT, .file = FILE_AT, .line = 12, .task_kind = kind });
}

static uint64_t nr_ids; /* none is used twice, as in Tokio */

static void attach_tokio(void)
{
	attach(ours, PROBE_TASK_SPAWN, PROBE_WORKER_THREAD_STOP);
}

static int set_up(void **state)
{
	const unsigned id = offsetof(struct fake_task, id);

	probes_world_init();
	nr_before = nr_ids;
	for (unsigned i = 0; i < NR_TABLES; i++)
		make_table(i, id, id + 8, WIRE_TASK_POLLED);
	make_table(PLACES, id, id + 16, WIRE_TASK_POLLED);
	make_table(CLOSURES, id, id + 8, WIRE_TASK_BLOCKING);
	make_table(OLD, 0, id + 8, WIRE_TASK_POLLED);
	attach_tokio();
	return 0;
}

static struct fake_task make_task(unsigned table)
{
	return (struct fake_task){
		.state = QUEUED, .vtable = (uint64_t)fake_tables[table], .owner = 1, .id = ++nr_ids
	};
}

static void enter(struct probes_run *r, struct fake_task *t)
{
	probes_enter(r, (uint64_t)t, CORE_POLL);
	t->state = (t->state & ~(uint64_t)TOKIO_NOTIFIED) | TOKIO_RUNNING;
}

/* The state is that of one reference less than probes_leave finds. */
static bool leave(struct probes_run *r, struct fake_task *t, uint64_t state)
{
	t->state = state + (r->table ? TOKIO_REF : 0);
	return probes_leave(r);
}

static void run(struct fake_task *t, uint64_t state)
{
	struct probes_run r;

	enter(&r, t);
	assert_false(leave(&r, t, state));
}

/* Spawn and details once, before the first poll; the end before the end of the last. */
static void test_order(void **state)
{
	struct fake_task t = make_task(0);

	probes_spawned((uint64_t)&t, sizeof(t));
	run(&t, IDLE);
	assert_said("spawn 1 a.rs:12:0 Fut\n"
		    "details 1 of 0 Fut a.rs:12\n"
		    "( 1 a.rs:12:0 Fut\n"
		    ") 1 a.rs:12:0 Fut\n");
	run(&t, OVER);
	assert_said("( 1 a.rs:12:0 Fut\n"
		    "terminate 1 a.rs:12:0 Fut\n"
		    ") 1 a.rs:12:0 Fut\n");
}

/* A task is held while it runs, and freed by whoever holds it last. */
static void test_reference(void **state)
{
	struct fake_task t = make_task(0);
	struct probes_run r;

	enter(&r, &t);
	assert_int_equal(t.state / TOKIO_REF, QUEUED / TOKIO_REF + 1);
	t.state = OVER % TOKIO_REF + TOKIO_REF;
	assert_true(probes_leave(&r));
}

/* The parent is the task, or the closure, in whose run the memory was allocated. */
static void test_parent(void **state)
{
	struct fake_task outer = make_task(0), inner = make_task(1), closure = make_task(CLOSURES);
	struct probes_run r;

	enter(&r, &outer);
	probes_spawned((uint64_t)&inner, sizeof(inner));
	leave(&r, &outer, IDLE);
	assert_said("( 1 a.rs:12:0 Fut\n) 1 a.rs:12:0 Fut\n");
	run(&inner, IDLE);
	assert_said("spawn 2 a.rs:12:0 Fut\ndetails 2 of 1 Fut a.rs:12\n"
		    "( 2 a.rs:12:0 Fut\n) 2 a.rs:12:0 Fut\n");
	enter(&r, &closure);
	probes_spawned((uint64_t)&inner, sizeof(inner));
	leave(&r, &closure, OVER);
	assert_said("");
	run(&inner, IDLE);
	assert_said("spawn 2 a.rs:12:0 Fut\ndetails 2 of 3 Fut a.rs:12\n"
		    "( 2 a.rs:12:0 Fut\n) 2 a.rs:12:0 Fut\n");
}

/* One that is cancelled, or dropped with its runtime, is spawned and ends, but is not polled. */
static void test_drop(void **state)
{
	struct fake_task t = make_task(0), shut = make_task(0);
	struct probes_run r;

	probes_spawned((uint64_t)&t, sizeof(t));
	t.state |= TOKIO_CANCELLED;
	run(&t, OVER | TOKIO_CANCELLED);
	assert_said("spawn 1 a.rs:12:0 Fut\ndetails 1 of 0 Fut a.rs:12\n"
		    "terminate 1 a.rs:12:0 Fut\n");
	probes_enter(&r, (uint64_t)&shut, CORE_SHUTDOWN);
	leave(&r, &shut, OVER);
	assert_said("terminate 2 a.rs:12:0 Fut\n");
	/* it was over before: nothing new */
	shut.state = OVER;
	probes_enter(&r, (uint64_t)&shut, CORE_SHUTDOWN);
	leave(&r, &shut, OVER);
	assert_said("");
}

static unsigned nr_ends_by_first;

static void *overlap(void *arg)
{
	enum { NR = 2000 * NR_TABLES };
	struct fake_task *tasks = calloc(NR, sizeof(*tasks));
	struct probes_run(*runs)[2] = calloc(NR, sizeof(*runs));

	for (unsigned i = 0; i < NR; i++) {
		tasks[i] = make_task(i % NR_TABLES);
		enter(&runs[i][0], &tasks[i]);
		tasks[i].state = QUEUED + TOKIO_REF;
		enter(&runs[i][1], &tasks[i]);
		tasks[i].state = OVER + 2 * TOKIO_REF;
	}
	for (unsigned i = 0; i < NR; i++)
		probes_leave(&runs[i][0]);
	nr_ends_by_first = nr_ends;
	for (unsigned i = 0; i < NR; i++)
		probes_leave(&runs[i][1]);
	free(tasks);
	free(runs);
	*(unsigned *)arg = NR;
	return NULL;
}

static void attach_ends(void)
{
	is_counting = true;
	detach_all();
	attach(ours, PROBE_TASK_TERMINATE, PROBE_TASK_TERMINATE);
}

/*
 * Two runs of a task overlap when it is queued again before the first has told its end: both may
 * find it complete, and one of them tells it. Also of many that end at one time, in all tables.
 */
static void test_ends_once(void **state)
{
	unsigned nr = 0;

	attach_ends();
	in_thread(overlap, &nr);
	assert_true(nr > 0);
	assert_int_equal(nr_ends_by_first, nr);
	assert_int_equal(nr_ends, nr);
}

/* Where tasks have no ids, one may come to where another was, and ends again. */
static void test_end_of_address(void **state)
{
	struct fake_task t = make_task(OLD);

	attach_ends();
	for (unsigned i = 1; i <= 3; i++) {
		t.state = QUEUED;
		run(&t, OVER);
		assert_int_equal(nr_ends, i);
	}
}

#define POLL(id) "( " id " a.rs:12:0 Fut\n) " id " a.rs:12:0 Fut\n"

/* Who wakes: nobody, a task on the same thread, the task itself, or another while it runs. */
static void test_wakes(void **state)
{
	struct fake_task a = make_task(0), b = make_task(1), closure = make_task(CLOSURES);
	struct probes_run r, inner;

	run(&a, IDLE);
	assert_said(POLL("1"));
	probes_wake((uint64_t)&a);
	assert_said("wake 1 by 0\n");
	run(&a, IDLE);
	assert_said(POLL("1"));
	enter(&r, &closure);
	probes_wake((uint64_t)&a);
	leave(&r, &closure, OVER);
	assert_said("wake 1 by 3\n");
	enter(&r, &b);
	leave(&r, &b, QUEUED);
	assert_said(POLL("2"));
	run(&b, IDLE);
	assert_said("wake 2 by 2\n" POLL("2"));
	/* in a LocalSet: a runs inside of b, and wakes it */
	enter(&r, &b);
	enter(&inner, &a);
	probes_wake_running((uint64_t)&b);
	leave(&inner, &a, IDLE);
	leave(&r, &b, QUEUED);
	assert_said("( 2 a.rs:12:0 Fut\n" POLL("1") ") 2 a.rs:12:0 Fut\n");
	run(&b, IDLE);
	assert_said("wake 2 by 1\n" POLL("2"));
}

/* Of several that wake a task while it runs, the first does; that may be the task itself. */
static void test_wakes_at_once(void **state)
{
	struct fake_task a = make_task(0), b = make_task(0), c = make_task(0);
	struct probes_run r, first, second;

	enter(&r, &c);
	enter(&first, &a);
	probes_wake_running((uint64_t)&c);
	leave(&first, &a, IDLE);
	enter(&second, &b);
	probes_wake_running((uint64_t)&c);
	leave(&second, &b, IDLE);
	leave(&r, &c, QUEUED);
	assert_said("( 3 a.rs:12:0 Fut\n" POLL("1") POLL("2") ") 3 a.rs:12:0 Fut\n");
	run(&c, IDLE);
	assert_said("wake 3 by 1\n" POLL("3"));
	enter(&r, &c);
	probes_wake_running((uint64_t)&c);
	enter(&second, &b);
	probes_wake_running((uint64_t)&c);
	leave(&second, &b, IDLE);
	leave(&r, &c, QUEUED);
	assert_said("( 3 a.rs:12:0 Fut\n" POLL("2") ") 3 a.rs:12:0 Fut\n");
	run(&c, IDLE);
	assert_said("wake 3 by 3\n" POLL("3"));
}

/* The first thing that is hooked when the tracers have gone; from then on nothing is. */
static void assert_forgotten_by(struct fake_task *t)
{
	detach_all();
	assert_true(probes_wanted(PROBES_TOKIO));
	probes_wake((uint64_t)t);
	assert_false(probes_wanted(PROBES_TOKIO) || probes_wanted(PROBES_ASYNC_TASK));
	attach_tokio();
}

/* What happens while nobody is attached is not seen: what was known before is nothing to go by. */
static void test_gap(void **state)
{
	struct fake_task old = make_task(0), woken = make_task(0), other = make_task(0);
	struct probes_run r;

	probes_spawned((uint64_t)&old, sizeof(old));
	enter(&r, &woken);
	leave(&r, &woken, QUEUED);
	assert_said(POLL("2"));
	assert_forgotten_by(&other);
	run(&old, IDLE);
	assert_said(POLL("1"));
	run(&woken, IDLE);
	assert_said(POLL("2"));
	/* what comes later is new, in the same memory too */
	probes_spawned((uint64_t)&old, sizeof(old));
	run(&old, QUEUED);
	assert_said("spawn 1 a.rs:12:0 Fut\ndetails 1 of 0 Fut a.rs:12\n" POLL("1"));
	run(&old, IDLE);
	assert_said("wake 1 by 1\n" POLL("1"));
}

/* The same where others stay, to whom that is of no use. */
static void test_gap_of_one(void **state)
{
	struct fake_task spawned = make_task(0), woken = make_task(0);

	probes_spawned((uint64_t)&spawned, sizeof(spawned));
	run(&woken, QUEUED);
	assert_said(POLL("2"));
	detach_all();
	attach(ours, PROBE_TASK_POLL_START, PROBE_TASK_TERMINATE);
	probes_wake((uint64_t)&woken);
	attach_tokio();
	run(&spawned, IDLE);
	run(&woken, IDLE);
	assert_said(POLL("1") POLL("2"));
}

static void spawn_many(uint64_t from)
{
	enum { NR = 100000 };

	for (uint64_t i = 1; i <= NR; i++)
		probes_spawned(from + i * 128, sizeof(struct fake_task));
}

/* What was forgotten takes no room from what is new. */
static void test_gap_makes_room(void **state)
{
	enum { NR = 1000 };
	struct fake_task *tasks = calloc(NR, sizeof(*tasks)), other = make_task(0);
	unsigned nr_spawns = 0;

	for (unsigned i = 0; i < 8; i++) {
		spawn_many((uint64_t)i << 28);
		assert_forgotten_by(&other);
	}
	for (unsigned i = 0; i < NR; i++) {
		tasks[i] = make_task(0);
		probes_spawned((uint64_t)&tasks[i], sizeof(*tasks));
	}
	for (unsigned i = 0; i < NR; i++) {
		run(&tasks[i], IDLE);
		nr_spawns += strncmp(said, "spawn ", 6) == 0;
		said[said_len = 0] = 0;
	}
	assert_int_equal(nr_spawns, NR);
	free(tasks);
}

/* With tokio_unstable the place is that of the spawn, of which text Rust does not end with NUL. */
static void test_place(void **state)
{
	static const char text[] = "src/lib.rs and more";
	static const struct {
		const char *file;
		uint64_t len;
		uint32_t line, column;
	} place = { text, 10, 34, 5 };
	struct fake_task t = make_task(PLACES);

	t.place = (uint64_t)&place;
	run(&t, IDLE);
	assert_said("( 1 src/lib.rs:34:5 Fut\n) 1 src/lib.rs:34:5 Fut\n");
	t.place = 0;
	run(&t, IDLE);
	assert_said(POLL("1"));
}

/* Nobody is attached: nothing is fired, and nothing remembered for who comes later. */
static void test_nobody(void **state)
{
	struct fake_task t = make_task(0), late = make_task(0);

	detach_all();
	assert_false(probes_wanted(PROBES_TOKIO) || probes_wanted(PROBES_ASYNC_TASK));
	probes_spawned((uint64_t)&t, sizeof(t));
	probes_spawned((uint64_t)&late, sizeof(late));
	run(&t, IDLE);
	probes_wake((uint64_t)&t);
	probes_worker_starts();
	probes_worker_stops();
	assert_said("");
	attach(ours, PROBE_TASK_SPAWN, PROBE_WORKER_THREAD_UNPARK);
	assert_true(probes_wanted(PROBES_TOKIO) && !probes_wanted(PROBES_ASYNC_TASK));
	run(&t, OVER);
	assert_said("( 1 a.rs:12:0 Fut\nterminate 1 a.rs:12:0 Fut\n) 1 a.rs:12:0 Fut\n");
	run(&late, IDLE);
	assert_said(POLL("2"));
}

/* Each probe has a semaphore of its own, in each of the two objects. */
static void test_each(void **state)
{
	struct fake_task t = make_task(0), u = make_task(0);

	detach_all();
	attach(for_perf, PROBE_TASK_TERMINATE, PROBE_TASK_TERMINATE);
	assert_true(probes_wanted(PROBES_TOKIO));
	run(&t, OVER);
	assert_said("perf's terminate 1 a.rs:12:0 Fut\n");
	attach(ours, PROBE_TASK_TERMINATE, PROBE_TASK_TERMINATE);
	run(&u, OVER);
	assert_said("terminate 2 a.rs:12:0 Fut\nperf's terminate 2 a.rs:12:0 Fut\n");
}

/* A child by fork that nobody traces has no region. */
static void test_child(void **state)
{
	struct fake_task t = make_task(0);
	const uint64_t before = t.state;
	struct wire_region *was = core_page.region;
	struct probes_run r;

	core_page.region = NULL;
	probes_enter(&r, (uint64_t)&t, CORE_POLL);
	assert_false(probes_leave(&r));
	probes_wake((uint64_t)&t);
	probes_worker_starts();
	assert_false(probes_park(EF_SLEEP_FUTEX));
	probes_worker_stops();
	assert_int_equal(t.state, before);
	assert_said("");
	core_page.region = was;
}

static void park(unsigned flags)
{
	if (probes_park(flags))
		probes_unpark();
	else
		say("none\n");
}

static void *sleep_elsewhere(void *arg)
{
	struct fake_task t = make_task(0);
	struct probes_run r;

	park(EF_SLEEP_FUTEX); /* no thread of a runtime */
	probes_worker_starts();
	park(EF_SLEEP_EPOLL);
	park(EF_SLEEP_TIMED);
	enter(&r, &t);
	park(EF_SLEEP_FUTEX); /* a task blocks */
	leave(&r, &t, IDLE);
	probes_worker_stops();
	park(EF_SLEEP_FUTEX); /* its loop is not seen, but it has run a task */
	return NULL;
}

/* Sleeps of a worker are parks, but for those of its tasks. */
static void test_parks(void **state)
{
	in_thread(sleep_elsewhere, NULL);
	assert_said("none\nstart\npark\nunpark\nnone\n"
		    "( 1 a.rs:12:0 Fut\nnone\n) 1 a.rs:12:0 Fut\nstop\npark\nunpark\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(order),	 TEST(reference),      TEST(parent),	     TEST(drop),
		TEST(ends_once), TEST(end_of_address), TEST(wakes),	     TEST(wakes_at_once),
		TEST(gap),	 TEST(gap_of_one),     TEST(gap_makes_room), TEST(place),
		TEST(nobody),	 TEST(each),	       TEST(child),	     TEST(parks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
