// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that each task which waits is told once, by the recipe of its table, and that nothing is
 * told of one whose memory cannot be read, or changes meanwhile.
 */
#include <string.h>

#include "stands_world.h"

/* A coroutine whose state is a byte, at the second byte of the future. */
static const struct wire_node state_nodes[] = {
	{ 0 },
	{ .kind = WIRE_NODE_STATE, .bytes = 1, .off = 1, .nr = 3, .first = 2 },
};
static const struct wire_edge state_edges[] = {
	{ 0 }, { .off = FUTURE, .node = 1 }, { 0 }, { 0 }, { 0 }
};

#define STATE(n) ((uint64_t)(n) << 8 | 0xff00ff)

static void test_tasks(void **state)
{
	struct world w;
	uint64_t before = clock_ticks(CLOCK_KIND_MONOTONIC);

	WORLD_INIT(&w, state_nodes, state_edges);
	put_idle(&w, HEAP + 0x100, 1, STATE(0));
	put_idle(&w, HEAP + 0x200, 2, STATE(2));
	put_idle(&w, HEAP + 0x300, 3, STATE(0));
	put_idle(&w, HEAP + 0x400, 4, STATE(3)); /* there is none such */
	put_idle(&w, HEAP + 0x500, 5, STATE(255));
	put_task(&w, HEAP + 0x600, TABLE, IDLE | RUNNING, 6);
	put_task(&w, HEAP + 0x700, TABLE, IDLE | NOTIFIED, 7);
	put_task(&w, HEAP + 0x800, TABLE + 0x100, IDLE, 8); /* its table has no recipe */
	look(&w);
	assert_int_equal(w.s.list.nr, 3);
	CHECK(&w, 1, 2);
	CHECK(&w, 2, 4);
	CHECK(&w, 3, 2);
	assert_int_equal(find(&w, 1)->trail, find(&w, 3)->trail);
	assert_int_equal(w.s.trails.nr, 2);
	assert_int_equal(find(&w, 1)->type, 7);
	assert_true(find(&w, 1)->ticks >= before &&
		    find(&w, 1)->ticks <= clock_ticks(CLOCK_KIND_MONOTONIC));
	world_release(&w);
}

/* Each once, also where they are more than are looked at together. */
static void test_many(void **state)
{
	struct world w;

	WORLD_INIT(&w, state_nodes, state_edges);
	for (uint64_t i = 0; i < 300; i++)
		put_idle(&w, HEAP + 0x80 * i, i + 1, STATE(i % 5));
	look(&w);
	assert_int_equal(w.s.list.nr, 180);
	for (uint64_t i = 0; i < 300; i++)
		if (i % 5 > 2)
			assert_null(find(&w, i + 1));
		else
			CHECK(&w, i + 1, 2 + i % 5);
	world_release(&w);
}

/* A box, with a state in its second word. */
static const struct wire_node box_nodes[] = {
	{ 0 },
	{ .kind = WIRE_NODE_DEREF, .nr = 1, .first = 2 },
	{ .kind = WIRE_NODE_STATE, .bytes = 1, .off = 8, .nr = 2, .first = 3 },
};
static const struct wire_edge box_edges[] = {
	{ 0 }, { .off = FUTURE, .node = 1 }, { .node = 2 }, { 0 }, { 0 }
};

/* Those that are looked at later are told by what is there then. */
static void test_later_ones(void **state)
{
	enum { TOGETHER = 128 };
	const uint64_t box = HEAP + 0x8000;
	struct world w;

	WORLD_INIT(&w, box_nodes, box_edges);
	for (uint64_t i = 0; i <= TOGETHER; i++)
		put_idle(&w, HEAP + 0x80 * i, i + 1, box);
	w.piece = HEAP + 0x80 * TOGETHER;
	w.change_at = 1;
	w.at = box + 8;
	w.word = 1;
	look(&w);
	for (uint64_t i = 0; i < TOGETHER; i++)
		CHECK(&w, i + 1, 3);
	CHECK(&w, TOGETHER + 1, 4);
	world_release(&w);
}

/* A table that is not in memory as it was: its object is gone, and others keep their types. */
static void test_objects(void **state)
{
	struct world w;

	WORLD_INIT(&w, state_nodes, state_edges);
	vec_push(&w.s.objects, (struct stands_object){ &w.other_d, 0, &w.others });
	put_idle(&w, HEAP + 0x100, 1, STATE(1));
	put_idle(&w, HEAP + 0x200, 2, STATE(1));
	fake_put(w.f, HEAP + 0x200 + 16, OTHER);
	fake_put(w.f, TABLE + 8, 77); /* an agent's hook */
	look(&w);
	assert_int_equal(find(&w, 1)->type, 7);
	assert_int_equal(find(&w, 2)->type, 9);
	fake_put(w.f, TABLE + 0x110, WORD + 1);
	look(&w);
	assert_int_equal(w.s.list.nr, 1);
	assert_int_equal(w.s.objects.nr, 1);
	assert_int_equal(find(&w, 2)->type, 9);
	world_release(&w);
}

/* A task at the end of a page, of what can be read, and one whose future lies behind it. */
static void test_borders(void **state)
{
	struct wire_edge edges[ARRAY_SIZE(state_edges)];
	struct world w;

	memcpy(edges, state_edges, sizeof(edges));
	WORLD_INIT(&w, state_nodes, edges);
	put_idle(&w, HEAP + 0x1000 - 48, 1, STATE(1)); /* the header before it, the future behind */
	put_idle(&w, HEAP + 0x2000 - 8, 2, STATE(2));
	put_idle(&w, HEAP + LENGTH - FUTURE - 8, 3, STATE(1));
	look(&w);
	CHECK(&w, 1, 3);
	CHECK(&w, 2, 4);
	CHECK(&w, 3, 3);
	world_release(&w);

	edges[1].off = 0x1000; /* a large one */
	WORLD_INIT(&w, state_nodes, edges);
	put_task(&w, HEAP + 0x100, TABLE, IDLE, 1);
	put_task(&w, HEAP + LENGTH - 0x1000, TABLE, IDLE, 2);
	look(&w);
	assert_int_equal(w.s.list.nr, 1);
	CHECK(&w, 1, 2);
	world_release(&w);
}

/* What is changed before the copy is taken, between the copy and the second look, and never. */
static void test_changes(void **state)
{
	enum { BEFORE = 1, BETWEEN, AFTER };
	static const struct {
		uint64_t off, word;
		bool before, between; /* is it told all the same? */
	} changes[] = {
		{ FUTURE, STATE(2), true, false },    /* polled: it stands elsewhere */
		{ FUTURE, STATE(7), false, false },   /* … and has finished, say */
		{ 0, IDLE | RUNNING, false, false },  /* is polled */
		{ 0, IDLE | NOTIFIED, false, false }, /* is about to be */
		{ 0, IDLE + 64, true, false },	      /* somebody cloned its waker */
		{ ID_OFF, 2, false, true },	      /* another one there, which has run */
		{ 16, TABLE + 0x100, false, true },   /* and of another type */
		{ FUTURE + 8, 1, true, true },	      /* nobody asks for that word */
	};
	const uint64_t task = HEAP + 0x100;
	struct world w;

	for (unsigned i = 0; i < ARRAY_SIZE(changes); i++)
		for (unsigned when = BEFORE; when <= AFTER; when++) {
			bool is_told = when == BEFORE	 ? changes[i].before
				       : when == BETWEEN ? changes[i].between
							 : true;

			WORLD_INIT(&w, state_nodes, state_edges);
			put_idle(&w, task, 1, STATE(0));
			w.piece = task;
			w.at = task + changes[i].off;
			w.word = changes[i].word;
			w.change_at = when;
			look(&w);
			assert_int_equal(w.nr_reads, when > BEFORE || is_told ? 2 : 1);
			assert_int_equal(w.s.list.nr, is_told);
			if (is_told && when != BEFORE)
				CHECK(&w, 1, 2);
			world_release(&w);
		}
}

/* What cannot be read at once is read in parts. */
static void test_parts(void **state)
{
	const uint64_t addr = HEAP + LENGTH + 0x10000;
	struct world w;

	WORLD_INIT(&w, state_nodes, state_edges);
	fake_add(w.f, addr, 0x200);
	fake_add(w.f, addr + 0x200, 0xe00);
	memory_settle(&w.f->m);
	put_idle(&w, addr + 0x100, 1, STATE(2));
	look(&w);
	CHECK(&w, 1, 4);
	world_release(&w);
}

/* Memory that goes away: that of the task before the copy, that of a box before the second look, or
 * nothing. */
static void test_gone(void **state)
{
	enum { OF_TASK = 3, OF_BOX };
	const uint64_t addr = HEAP + LENGTH + 0x10000, box = addr + 0x10000;
	struct world w;

	for (unsigned when = 1; when <= 3; when++) {
		WORLD_INIT(&w, box_nodes, box_edges);
		fake_add(w.f, addr, 0x1000);
		fake_add(w.f, box, 0x1000);
		memory_settle(&w.f->m);
		put_idle(&w, addr + 0x100, 1, box);
		w.piece = addr + 0x100;
		w.change_at = when;
		w.gone = when == 1 ? OF_TASK : OF_BOX;
		look(&w);
		assert_int_equal(w.s.list.nr, when > 2);
		world_release(&w);
	}
}

/* Somebody has no more time. */
static void test_given_up(void **state)
{
	struct world w;

	WORLD_INIT(&w, state_nodes, state_edges);
	put_idle(&w, HEAP + 0x100, 1, STATE(0));
	memory_give_up(&w.f->m);
	assert_false(stands_look(&w.s, &w.f->m));
	assert_int_equal(w.s.list.nr, 0);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tasks),	   cmocka_unit_test(test_many),
		cmocka_unit_test(test_later_ones), cmocka_unit_test(test_objects),
		cmocka_unit_test(test_borders),	   cmocka_unit_test(test_changes),
		cmocka_unit_test(test_parts),	   cmocka_unit_test(test_gone),
		cmocka_unit_test(test_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
