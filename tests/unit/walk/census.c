// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that the census finds each live task once, wherever it lies, and nothing that only looks
 * like one. */
#include "walk/census.h"

#include <string.h>

#include "memory/fake.h"

#define TABLE	 0x400000
#define BLOCKING 0x400100
#define HELPER	 0x400200
#define HEAP	 UINT64_C(0x7f0000000000)
#define STACK	 UINT64_C(0x7ffe00000000)
#define LENGTH	 (UINT64_C(1) << 20)
#define ID_OFF	 40

#define IDLE	 (2 << 6 | 8)
#define RUNNING	 1
#define COMPLETE 2
#define NOTIFIED 4
#define NEW	 0xcc

#define AT_NEW	 0x111 /* of async-task */
#define AT_REF	 0x100
#define SMOL	 1 /* among the known runtimes */

struct world {
	struct fake *f;
	struct objects objects;
	struct object object;
	struct discovery d;
	struct found_runtime runtime;
	struct found_table tables[3];
};

static void world_init(struct world *w)
{
	static const uint64_t addrs[] = { TABLE, BLOCKING, HELPER };
	static const enum trace_task_kind kinds[] = { TRACE_TASK, TRACE_BLOCKING, TRACE_HELPER };

	*w = (struct world){ .f = fake_new() };
	w->runtime.name = "tokio";
	for (unsigned i = 0; i < 3; i++) {
		w->tables[i].kind = kinds[i];
		w->tables[i].plan = (struct wire_table){
			.va = addrs[i],
			.kind = WIRE_TABLE_TOKIO,
			.id_off = ID_OFF,
		};
	}
	w->d = (struct discovery){
		.runtimes = &w->runtime,
		.nr_runtimes = 1,
		.tables = w->tables,
		.nr_tables = 3,
	};
	w->object.d = &w->d;
	vec_push(&w->objects.list, w->object);
	fake_add(w->f, HEAP, LENGTH);
	fake_add(w->f, STACK, 0x10000);
	vec_push(&w->f->m.threads, (struct memory_thread){ 1, STACK + 0x8000 });
	memory_settle(&w->f->m);
}

static void world_release(struct world *w)
{
	vec_release(&w->objects.list);
	memory_close(&w->f->m);
}

static void put_task(struct world *w, uint64_t addr, uint64_t table, uint64_t state, uint64_t id)
{
	bool is_owned = table == TABLE && state != NEW;

	fake_put(w->f, addr, state);
	fake_put(w->f, addr + 16, table);
	fake_put(w->f, addr + 24, is_owned ? 7 : 0);
	fake_put(w->f, addr + ID_OFF, id);
}

static const struct census_task *find(const struct census *c, uint64_t id)
{
	vec_each (t, &c->tasks)
		if (t->id == id)
			return t;
	return NULL;
}

static void test_states(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	put_task(&w, HEAP, TABLE, IDLE, 1);
	put_task(&w, HEAP + 0x100, TABLE, IDLE | NOTIFIED, 2);
	put_task(&w, HEAP + 0x200, TABLE, IDLE | RUNNING, 3);
	put_task(&w, HEAP + 0x300, TABLE, IDLE | COMPLETE, 4);
	put_task(&w, HEAP + 0x400, TABLE, 0x55555555d000, 5); /* freed: an allocator's pointer */
	put_task(&w, HEAP + 0x500, TABLE, 8, 6);	      /* freed: no references */
	put_task(&w, HEAP + 0x600, TABLE, IDLE, 0);	      /* no id */
	put_task(&w, HEAP + 0x700, HELPER, IDLE | RUNNING, 8);
	put_task(&w, HEAP + 0x800, BLOCKING, IDLE | RUNNING, 9);
	fake_put(w.f, HEAP + 0x900, TABLE); /* in something else */
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 4);
	assert_int_equal(find(&c, 1)->state, TASK_IDLE);
	assert_int_equal(find(&c, 2)->state, TASK_SCHEDULED);
	assert_int_equal(find(&c, 3)->state, TASK_RUNNING);
	assert_int_equal(find(&c, 9)->state, TASK_RUNNING);
	assert_int_equal(c.nr_over, 1);
	census_release(&c);
	world_release(&w);
}

/* What `spawn` leaves on a stack looks like a new task. */
static void test_copies(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	put_task(&w, STACK, TABLE, NEW, 1); /* its task is long over */
	put_task(&w, HEAP, TABLE, IDLE, 2);
	put_task(&w, STACK + 0x100, TABLE, NEW, 2);
	put_task(&w, STACK + 0x200, BLOCKING, NEW, 3);
	put_task(&w, HEAP + 0x100, BLOCKING, NEW, 4);		 /* waits for a thread */
	put_task(&w, HEAP + 0x200, BLOCKING, IDLE | RUNNING, 5); /* and so did this */
	put_task(&w, HEAP + 0x300, BLOCKING, NEW, 5);		 /* on a stack that nobody knows */
	put_task(&w, HEAP + 0x400, TABLE, NEW, 6);
	fake_put(w.f, HEAP + 0x400 + 24, 7); /* spawned, and owned */
	fake_put(w.f, HEAP + 0x1000, HEAP + 0x100);
	fake_put(w.f, HEAP + 0x1008, HEAP + 0x300);
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 4);
	assert_int_equal(find(&c, 2)->addr, HEAP);
	assert_int_equal(find(&c, 4)->addr, HEAP + 0x100);
	assert_int_equal(find(&c, 5)->addr, HEAP + 0x200);
	assert_int_equal(find(&c, 6)->addr, HEAP + 0x400);
	census_release(&c);
	world_release(&w);
}

/* A closure of the blocking pool that is over: its copy was moved to the heap within another value.
 */
static void test_copies_on_the_heap(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	put_task(&w, HEAP + 0x108, BLOCKING, NEW, 1);
	put_task(&w, HEAP + 0x208, BLOCKING, NEW,
		 2); /* before its task, which waits for a thread */
	put_task(&w, HEAP + 0x300, BLOCKING, NEW, 2);
	fake_put(w.f, HEAP + 0x1000, HEAP + 0x300);
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 1);
	assert_int_equal(c.tasks.v[0].addr, HEAP + 0x300);
	assert_int_equal(c.nr_copies, 2);
	census_release(&c);
	world_release(&w);
}

/* Words that came later made the state of a copy another one. The stack of a coroutine may be a
 * part of the heap, where tasks are. */
static void test_old_copies_on_stacks(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	put_task(&w, STACK, TABLE, IDLE | RUNNING, 1);
	put_task(&w, STACK + 0x100, TABLE, IDLE, 2);
	fake_put(w.f, HEAP, STACK + 0x100);
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 1);
	assert_int_equal(c.tasks.v[0].id, 2);
	census_release(&c);
	w.f->m.areas.v[1].is_main_stack = true;
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 0);
	census_release(&c);
	world_release(&w);
}

static void put_async_task(struct world *w, uint64_t addr, uint64_t state)
{
	fake_put(w->f, addr, TABLE);
	fake_put(w->f, addr + 8, state);
}

/* One without an id is a task if somebody has its address, and it is not on a stack. */
static void test_copies_without_ids(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	w.runtime.descriptor = SMOL;
	w.tables[0].plan.kind = WIRE_TABLE_ASYNC_TASK;
	put_async_task(&w, STACK, AT_NEW);
	fake_put(w.f, STACK + 0x100, STACK); /* where it was moved from */
	put_async_task(&w, HEAP, AT_NEW);    /* nobody has it */
	put_async_task(&w, HEAP + 0x100, AT_NEW);
	fake_put(w.f, HEAP + 0x1000, HEAP + 0x100);
	put_async_task(&w, HEAP + 0x200, AT_NEW + AT_REF); /* it was woken, or cloned */
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 2);
	assert_int_equal(c.nr_copies, 2);
	assert_int_equal(find(&c, HEAP + 0x100)->state, TASK_SCHEDULED);
	assert_int_equal(find(&c, HEAP + 0x200)->state, TASK_SCHEDULED);
	census_release(&c);
	w.f->m.nr_missing_bytes = 1; /* who has it may be in what is missing */
	census_init(&c, &w.f->m, &w.objects);
	assert_non_null(find(&c, HEAP));
	assert_int_equal(c.nr_copies, 1);
	census_release(&c);
	world_release(&w);
}

/* Also where a header crosses the end of what is read at once. */
static void test_everywhere(void **state)
{
	uint64_t seed = 88172645463325252, nr = 0;
	struct world w;
	struct census c;

	world_init(&w);
	for (uint64_t addr = HEAP; addr + 128 <= HEAP + LENGTH;
	     addr += 64 + unit_random(&seed) % 16 * 8)
		put_task(&w, addr, TABLE, IDLE, ++nr);
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, nr);
	for (uint64_t i = 0; i < nr; i++)
		assert_int_equal(c.tasks.v[i].id, i + 1);
	assert_true(c.scanned_bytes == LENGTH + 0x10000);
	census_release(&c);
	world_release(&w);
}

static void test_only_private_memory_that_may_be_written(void **state)
{
	struct world w;
	struct census c;

	world_init(&w);
	fake_add(w.f, 0x10000, 0x1000);
	w.f->m.areas.v[2].may_write = false;
	fake_add(w.f, 0x20000, 0x1000);
	w.f->m.areas.v[3].is_private = false;
	memory_settle(&w.f->m);
	put_task(&w, 0x10000, TABLE, IDLE, 1);
	put_task(&w, 0x20000, TABLE, IDLE, 2);
	put_task(&w, HEAP, TABLE, IDLE, 3);
	census_init(&c, &w.f->m, &w.objects);
	assert_int_equal(c.tasks.nr, 1);
	assert_int_equal(c.tasks.v[0].id, 3);
	census_release(&c);
	world_release(&w);
}

static void test_find(void **state)
{
	struct census_task t;
	struct world w;
	struct census c;

	world_init(&w);
	put_task(&w, HEAP, TABLE, IDLE | COMPLETE, 4);
	census_init(&c, &w.f->m, &w.objects);
	assert_true(census_find(&c, HEAP, &t));
	assert_int_equal(t.id, 4);
	assert_int_equal(t.state, TASK_OVER);
	assert_false(census_find(&c, HEAP + 8, &t));
	assert_false(census_find(&c, HEAP + 1, &t));
	assert_false(census_find(&c, 0x10, &t));
	census_release(&c);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_copies_on_the_heap),
		cmocka_unit_test(test_old_copies_on_stacks),
		cmocka_unit_test(test_copies_without_ids),
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_only_private_memory_that_may_be_written),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
