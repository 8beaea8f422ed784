// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Await paths in the agent's core, by recipes and on tasks that are made up: each place of a task
 * has one number, whether it was remembered or followed; memory that is not as it should be has
 * none; and a shutdown and a reader of the same task never miss each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include "agent/fast.h"
#include "world.h"

#define INITIAL 0xcc /* three references, wanted, notified */

enum { NOT_STARTED, DONE, PANICKED, FIRST, SECOND, NR_STATES };

/* A future that waits for another one, which it has, boxes, or has as a trait object. */
struct inner {
	uint64_t saved;
	uint8_t state;
};

struct future {
	uint16_t pad[3];
	uint8_t odd, state;
	union {
		struct inner inner;  /* of FIRST */
		struct inner *boxed; /* of SECOND */
		struct {
			uint64_t tag; /* 0: none; 7: nothing in it; else a pointer to another */
		} maybe;
	};
	void *dyn[2]; /* data and table */
};

struct task {
	uint64_t state, next, vtable, owner, scheduler, id;
	struct future future;
	uint64_t trailer[4];
};

static uint64_t fake_table[10];
static struct core_table *table;

static uint32_t add_node(struct wire_node n, uint32_t nr)
{
	n.nr = nr;
	n.first = region->nr_edges;
	region->nr_edges += nr;
	region->nodes[region->nr_nodes] = n;
	return region->nr_nodes++;
}

static struct wire_edge *edge_of(uint32_t node, unsigned i)
{
	return &region->edges[region->nodes[node].first + i];
}

static int set_up(void **state)
{
	world_init();
	region->nr_nodes = region->nr_edges = 1;
	table = core_table_find((uint64_t)fake_table, true);
	*table = (struct core_table){ .id_off = offsetof(struct task, id),
				      .scheduler_off = offsetof(struct task, scheduler),
				      .addr = (uint64_t)fake_table };
	core_awake(core_sleep(0)); /* takes the slot */
	return 0;
}

static struct task a_task(void)
{
	return (struct task){ .state = INITIAL, .vtable = (uint64_t)fake_table, .owner = 1 };
}

/* The path that a run of the task has in the ring. */
static uint64_t run(struct task *task)
{
	struct core_entry e = core_enter((uint64_t)task, CORE_POLL, mine);
	uint64_t at = e.slot->head - EVENT_WORDS_RUN_START, word = *word_at(e.slot, at + 2);

	assert_int_equal(word & EVENT_ADDR_MASK, (uint64_t)task);
	assert_int_equal(*word_at(e.slot, at) & (EV_MAX - 1), EV_RUN_START);
	core_leave(&e, mine);
	assert_true(!mine->reading || mine->reading == (uint64_t)task + PATH_WAS_READ);
	__atomic_store_n(&mine->tail, mine->head, __ATOMIC_RELEASE);
	return word >> EVENT_ADDR_BITS;
}

static uint32_t states(unsigned off)
{
	return add_node((struct wire_node){ .kind = WIRE_NODE_STATE, .bytes = 1, .off = off },
			NR_STATES);
}

static void begin_with(uint32_t node)
{
	uint32_t edge = region->nr_edges++;

	region->edges[edge] =
		(struct wire_edge){ .off = offsetof(struct task, future), .node = node };
	table->recipe = path_add(region, edge, 0);
}

/* Without a recipe, no path; with one, the same place has the same number again, on each way. */
static void test_states(void **state)
{
	struct task t = a_task();
	uint64_t numbers[NR_STATES][NR_STATES] = { 0 };
	uint32_t outer, inner;

	assert_int_equal(run(&t), 0);
	outer = states(offsetof(struct future, state));
	inner = states(offsetof(struct inner, state));
	*edge_of(outer, FIRST) =
		(struct wire_edge){ .off = offsetof(struct future, inner), .node = inner };
	begin_with(outer);
	assert_int_not_equal(table->recipe, 0);
	for (int round = 0; round < 3; round++)
		for (unsigned i = 0; i < NR_STATES; i++)
			for (unsigned k = 0; k < NR_STATES; k++) {
				uint64_t *number = &numbers[i][i == FIRST ? k : 0], got;

				t.future.state = i;
				t.future.odd = round * 17; /* beside it in its word */
				t.future.inner.state = k;
				got = run(&t);
				assert_int_not_equal(got, 0);
				assert_int_equal(run(&t), got);
				if (!*number)
					*number = got;
				assert_int_equal(got, *number);
			}
	for (unsigned i = 0; i < NR_STATES * NR_STATES; i++)
		for (unsigned k = 0; k < i; k++)
			if (numbers[0][i])
				assert_int_not_equal(numbers[0][i], numbers[0][k]);
	assert_int_equal(region->nr_bad_path, 0);
}

/* The choices are the edges that were taken, in their order. */
static void test_choices(void **state)
{
	struct task t = a_task();
	uint32_t outer = states(offsetof(struct future, state)),
		 inner = states(offsetof(struct inner, state));
	const struct wire_path *p;

	*edge_of(outer, FIRST) =
		(struct wire_edge){ .off = offsetof(struct future, inner), .node = inner };
	begin_with(outer);
	t.future.state = FIRST;
	t.future.inner.state = SECOND;
	p = &region->paths[run(&t)];
	assert_int_equal(p->recipe, path_starts[table->recipe].edge);
	assert_int_equal(p->nr_choices, 2);
	assert_int_equal(p->choices[0], region->nodes[outer].first + FIRST);
	assert_int_equal(p->choices[1], region->nodes[inner].first + SECOND);
}

/* Boxes and trait objects: what they lead to is looked at each time, wherever it lies. */
static void test_pointers(void **state)
{
	struct inner here = { .state = FIRST }, there = { .state = SECOND };
	struct task t = a_task();
	uint64_t table_a, table_b, boxed, second, known, unknown;
	uint32_t outer = states(offsetof(struct future, state)),
		 inner = states(offsetof(struct inner, state)),
		 box = add_node((struct wire_node){ .kind = WIRE_NODE_DEREF }, 1),
		 dyn = add_node((struct wire_node){ .kind = WIRE_NODE_DYN, .other = 8 }, 0);
	uint32_t edge = region->nr_edges++;
	struct wire_dyn *d = &region->dyns[wire_dyn_home((uint64_t)&table_a)];

	edge_of(box, 0)->node = inner;
	*edge_of(outer, SECOND) =
		(struct wire_edge){ .off = offsetof(struct future, boxed), .node = box };
	*edge_of(outer, FIRST) =
		(struct wire_edge){ .off = offsetof(struct future, dyn), .node = dyn };
	region->edges[edge].node = inner;
	*d = (struct wire_dyn){ .addr = (uint64_t)&table_a, .edge = edge };
	begin_with(outer);
	t.future.state = SECOND;
	t.future.boxed = &here;
	boxed = run(&t);
	t.future.boxed = &there;
	second = run(&t);
	assert_int_not_equal(boxed, second);
	there.state = FIRST;
	assert_int_equal(run(&t), boxed);
	assert_int_equal(run(&t), boxed);
	t.future.state = FIRST;
	t.future.dyn[0] = &there;
	t.future.dyn[1] = &table_a;
	known = run(&t);
	assert_int_equal(region->paths[known].nr_choices, 3);
	t.future.dyn[1] = &table_b;
	unknown = run(&t);
	assert_int_not_equal(known, unknown);
	assert_int_equal(region->paths[unknown].choices[1], 0);
	t.future.dyn[1] = &table_a;
	assert_int_equal(run(&t), known);
	assert_int_equal(region->nr_bad_path, 0);
	path_forget(region, (uint64_t)&table_a, (uint64_t)&table_a + 8); /* its object is gone */
	assert_int_equal(run(&t), unknown);
	t.future.state = SECOND;
	t.future.boxed = NULL;
	assert_int_equal(run(&t), 0);
	assert_int_equal(region->nr_bad_path, 1);
}

/* An enum whose values are not in a row, with a variant for all others; and several at once. */
static void test_cases(void **state)
{
	struct task t = a_task();
	uint64_t none, nothing, some, other;
	uint32_t which = add_node((struct wire_node){ .kind = WIRE_NODE_CASE,
						      .bytes = 8,
						      .off = offsetof(struct future, maybe),
						      .other = 1 },
				  3),
		 outer = states(offsetof(struct future, state)),
		 fork = add_node((struct wire_node){ .kind = WIRE_NODE_FORK }, 2);

	edge_of(which, 1)->value = 7;
	edge_of(fork, 0)->node = which;
	edge_of(fork, 1)->node = outer;
	begin_with(fork);
	none = run(&t);
	t.future.maybe.tag = 7;
	nothing = run(&t);
	t.future.maybe.tag = 0x12345678;
	some = run(&t);
	t.future.maybe.tag = 0x87654321;
	assert_int_equal(run(&t), some);
	t.future.state = DONE;
	other = run(&t);
	assert_true(none != nothing && nothing != some && some != none && other != some);
	assert_int_equal(region->paths[other].nr_choices, 2);
	t.future.state = NOT_STARTED;
	t.future.maybe.tag = 0;
	assert_int_equal(run(&t), none);
}

/* What is not as the recipe says, or finds no room, has no number and is counted. */
static void test_unknown(void **state)
{
	struct task t = a_task();

	begin_with(states(offsetof(struct future, state)));
	t.future.state = NR_STATES;
	assert_int_equal(run(&t), 0);
	assert_int_equal(region->nr_bad_path, 1);
	for (unsigned i = 0; i < WIRE_MAX_PATHS; i++)
		region->paths[i].hash = 1; /* no path's own */
	t.future.state = FIRST;
	assert_int_equal(run(&t), 0);
	assert_int_equal(region->nr_no_path, 1);
}

/* A plan that does not fit together is refused. */
static void test_unsound(void **state)
{
	uint32_t node = states(0), first = region->nodes[node].first;

	edge_of(node, 0)->node = WIRE_MAX_NODES - 1;
	begin_with(node);
	assert_int_equal(table->recipe, 0);
	edge_of(node, 0)->node = 0;
	region->nodes[node].first = WIRE_MAX_EDGES;
	assert_int_equal(path_add(region, first, 0), 0);
	region->nodes[node].first = first;
	region->nodes[node].bytes = 3;
	assert_int_equal(path_add(region, first, 0), 0);
	region->nodes[node].bytes = 1;
	assert_int_equal(path_add(region, region->nr_edges, 0), 0);
	assert_int_not_equal(path_add(region, first, 0), 0);
}

/* Not while it runs elsewhere, not when it is over, not while a shutdown takes it. */
static void test_not_ours(void **state)
{
	struct task t = a_task(), other = a_task();
	uint64_t number;

	begin_with(states(offsetof(struct future, state)));
	number = run(&t);
	assert_int_not_equal(number, 0);
	t.state = INITIAL | TOKIO_CANCELLED;
	assert_int_equal(run(&t), number);
	t.state = INITIAL | TOKIO_RUNNING;
	assert_int_equal(run(&t), 0);
	t.state = INITIAL | TOKIO_COMPLETE;
	assert_int_equal(run(&t), 0);
	t.state = INITIAL;
	for (unsigned i = 0; i < CORE_MAX_CLOSED + 2; i++)
		assert_true(path_close((uint64_t)&t));
	assert_int_equal(run(&t), 0);
	assert_int_equal(run(&other), 0); /* not listed: nobody knows which */
	path_unclose((uint64_t)&t);
	path_unclose((uint64_t)&t);
	for (unsigned i = 0; i < CORE_MAX_CLOSED; i++) {
		assert_int_equal(run(&t), 0);
		path_unclose((uint64_t)&t);
	}
	assert_int_equal(run(&t), number);
	assert_int_equal(run(&other), number);
}

/* Whoever shuts a task down finds where it stands, if nobody has it, and leaves it idle. */
static void test_closed(void **state)
{
	struct task t = a_task();
	uint64_t number, addr = (uint64_t)&t;

	begin_with(states(offsetof(struct future, state)));
	number = run(&t);
	assert_int_equal(path_of_closed(mine, addr, table), 0); /* it is not closed */
	path_close(addr);
	t.state = INITIAL | TOKIO_RUNNING;
	assert_int_equal(path_of_closed(mine, addr, table), 0);
	assert_int_equal(t.state, INITIAL | TOKIO_RUNNING);
	t.state = INITIAL | TOKIO_COMPLETE;
	assert_int_equal(path_of_closed(mine, addr, table), 0);
	t.state = INITIAL;
	assert_int_equal(path_of_closed(mine, addr, table), number);
	assert_int_equal(t.state, INITIAL | TOKIO_CANCELLED);
	path_leave_closed(addr);
	t.state = INITIAL | TOKIO_RUNNING | TOKIO_CANCELLED; /* the runtime's own shutdown */
	assert_int_equal(run(&t), 0);
	path_unclose(addr);
	t.state = INITIAL;
	assert_int_equal(run(&t), number);
	table->id_off = 0; /* an old release */
	path_close(addr);
	assert_int_equal(path_of_closed(mine, addr, table), 0);
	assert_int_equal(t.state, INITIAL);
	path_unclose(addr);
}

/* ---- a poller and shutdowns, at once ---- */

#define NR_ROUNDS     30000
#define MAX_NR_ROUNDS (100 * NR_ROUNDS)
#define LIMIT_TICKS   100000
#define PAUSE_TICKS   2000

static struct task shared;
static volatile struct inner *memory; /* what the task's box leads to; spoilt by who has the task */
static uint32_t is_over, nr_shut_down, nr_read, nr_read_closed, nr_between;
/*
 * Polls that waited for a shutdown that was off its CPU, up to a limit; or that did not wait, since
 * they came first, and were off it themselves before they had the task: nobody waits long for them.
 */
static uint32_t nr_long;

/* As the runtime does: it is somebody's, or nobody's, who then may have it; references come and go
 * meanwhile. */
static bool have_task(void)
{
	uint64_t state = __atomic_load_n(&shared.state, __ATOMIC_RELAXED);

	do {
		if (state & TOKIO_RUNNING)
			return false;
	} while (!__atomic_compare_exchange_n(&shared.state, &state, state | TOKIO_RUNNING, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return true;
}

static void use_task(uint64_t bits)
{
	memory->state = 0xa5;
	for (unsigned k = 0; k < 20; k++)
		__builtin_ia32_pause();
	memory->state = FIRST;
	__atomic_fetch_and(&shared.state, ~bits, __ATOMIC_RELEASE);
}

/* On a busy machine the two may long not meet. */
static bool is_enough(unsigned nr_rounds)
{
	bool have_met =
		__atomic_load_n(&nr_read, __ATOMIC_RELAXED) && nr_read_closed && nr_shut_down;

	return nr_rounds >= (have_met ? NR_ROUNDS : MAX_NR_ROUNDS);
}

static void *shut_down(void *arg)
{
	for (unsigned i = 0; !is_enough(i); i++) {
		bool was_read, was_had;

		path_close((uint64_t)&shared);
		while (path_is_read((uint64_t)&shared, NULL))
			__builtin_ia32_pause();
		for (unsigned k = 0; k < 100 && path_was_read((uint64_t)&shared, NULL); k++)
			__builtin_ia32_pause();
		was_read = path_of_closed(&region->threads[WIRE_MAX_THREADS - 1], (uint64_t)&shared,
					  table);
		nr_read_closed += was_read;
		path_leave_closed((uint64_t)&shared);
		was_had = have_task();
		nr_between += was_read && !was_had;
		nr_shut_down += was_had;
		if (was_had)
			use_task(TOKIO_RUNNING | TOKIO_CANCELLED);
		path_unclose((uint64_t)&shared);
		for (unsigned k = 0; k < 40; k++)
			__builtin_ia32_pause();
		if (i % 64 == 0)
			sched_yield();
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void poll_once(void)
{
	uint64_t start = __builtin_ia32_rdtsc(), word;
	struct core_entry e = core_enter((uint64_t)&shared, CORE_POLL, mine);
	bool has_read, has_task;

	word = *word_at(e.slot, e.slot->head - EVENT_WORDS_RUN_START + 2);
	has_read = word >> EVENT_ADDR_BITS;
	nr_read += has_read;
	has_task = have_task();
	nr_long += __builtin_ia32_rdtsc() - start > (has_read ? PAUSE_TICKS : LIMIT_TICKS);
	if (has_task)
		use_task(TOKIO_RUNNING);
	core_leave(&e, mine);
	__atomic_store_n(&mine->tail, mine->head, __ATOMIC_RELEASE);
}

/*
 * What others do to a future is never seen by who reads where its task stands; and when a shutdown
 * has looked, nobody gets the task before the runtime's own shutdown does, unless that takes long.
 */
static void test_race(void **state)
{
	static struct inner inner = { .state = FIRST };
	uint32_t box, node = states(offsetof(struct inner, state));
	pthread_t thread;

	box = add_node((struct wire_node){ .kind = WIRE_NODE_DEREF }, 1);
	*edge_of(box, 0) = (struct wire_edge){ .node = node };
	region->edges[region->nr_edges] = (struct wire_edge){
		.off = offsetof(struct task, future) + offsetof(struct future, boxed), .node = box
	};
	table->recipe = path_add(region, region->nr_edges++, 0);
	memory = &inner;
	shared = a_task();
	shared.future.boxed = &inner;
	pthread_create(&thread, NULL, shut_down, NULL);
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		poll_once();
	pthread_join(thread, NULL);
	assert_int_equal(region->nr_bad_path, 0);
	assert_int_not_equal(run(&shared), 0);
	assert_true(nr_read > 0 && nr_read_closed > 0 && nr_shut_down > 0);
	assert_true(nr_between <= nr_long);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_choices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cases, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unsound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_race, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
