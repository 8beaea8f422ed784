// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The future of a root is found in the frame of who waits for it, where the plan says: if that is
 * so, and it waits. Functions of this test have such frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/path.h"
#include "agent/root_future.h"
#include "world.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { NOT_STARTED, RETURNED, PANICKED, FIRST, SECOND, NR_STATES };

struct future {
	uint64_t saved[3];
	uint8_t state;
};

static struct patch_object self;
static struct root_future found;
static volatile unsigned nr_calls; /* keeps calls from being tail calls */
static uint32_t recipe, recipe_of_pointer;
static uint64_t outermost, path;
static bool is_planned;

static int add_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	self = (struct patch_object){ info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };
	return 1; /* the program itself is the first */
}

static uint32_t add_edge(struct wire_node n, uint32_t nr)
{
	uint32_t edge = region->nr_edges++;

	n.nr = nr;
	n.first = region->nr_edges;
	region->nr_edges += nr;
	region->nodes[region->nr_nodes] = n;
	region->edges[edge] = (struct wire_edge){ .node = region->nr_nodes++ };
	return edge;
}

static int set_up(void **state)
{
	world_init();
	lobby.spawn_stacks = 1;
	stack_init(environ);
	dl_iterate_phdr(add_self, NULL);
	stack_add_object(0, &self);
	region->nr_nodes = region->nr_edges = 1;
	recipe = add_edge((struct wire_node){ .kind = WIRE_NODE_STATE,
					      .bytes = 1,
					      .off = offsetof(struct future, state) },
			  NR_STATES);
	recipe_of_pointer = add_edge((struct wire_node){ .kind = WIRE_NODE_DEREF }, 1);
	region->edges[region->nodes[region->edges[recipe_of_pointer].node].first].node =
		region->edges[recipe].node;
	region->nr_framed = 1;
	outermost = UINT64_MAX;
	is_planned = false;
	return 0;
}

static int end(void **state)
{
	stack_drop_object(0);
	return tear_down(state);
}

/* ---- frames ---- */

/* Where who waits has called from, which is planned the first time. */
static NOINLINE void park(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	struct root_future copy;

	if (!is_planned) {
		region->framed[0].addr = frame[1] - 1;
		region->framed[0].end_addr = frame[1];
		root_futures_add(region, true);
		is_planned = true;
	}
	root_future_find(&found, frame, outermost);
	copy = found;
	path = root_future_path(&copy);
	nr_calls++;
}

/* Frames between the parker and who waits, by their own rules. */
static NOINLINE void park_deeper(unsigned depth)
{
	volatile char room[200];

	room[depth] = 1;
	if (depth)
		park_deeper(depth - 1);
	else
		park();
	nr_calls += room[depth];
}

static uint64_t stack_pointer(void)
{
	uint64_t sp;

	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	return sp;
}

/* Its future lies in its own frame, and a pointer to it as well. */
static NOINLINE uint64_t waits(unsigned state, bool is_right)
{
	volatile struct future future = { .state = state };
	volatile struct future *volatile pointer = is_right ? &future : &future + 1;
	struct wire_framed *f = &region->framed[0];
	uint64_t sp = stack_pointer();

	f->bytes = sizeof(future);
	f->recipe = recipe;
	f->off = (uint64_t)&future - sp;
	f->pointer_off = (uint64_t)&pointer - sp;
	park();
	nr_calls++;
	return (uint64_t)&future;
}

/* It lies further up. */
static NOINLINE void drives(volatile struct future *future)
{
	volatile struct future *volatile argument = future;
	struct wire_framed *f = &region->framed[0];

	f->bytes = 8;
	f->recipe = recipe_of_pointer;
	f->off = (uint64_t)&argument - stack_pointer();
	park();
	nr_calls++;
}

static NOINLINE uint64_t waits_deeper(unsigned depth)
{
	volatile struct future future = { .state = FIRST };
	uint64_t sp = stack_pointer();

	region->framed[0].bytes = sizeof(future);
	region->framed[0].recipe = recipe;
	region->framed[0].off = (uint64_t)&future - sp;
	park_deeper(depth);
	nr_calls++;
	return (uint64_t)&future;
}

/* ---- tests ---- */

static void found_at(uint64_t addr)
{
	assert_int_equal(found.addr, addr);
}

/* It waits: there is a path, which tells where; it is not known, done, or never began: there is
 * none. */
static void test_states(void **state)
{
	uint64_t first, second;

	found_at(waits(FIRST, true));
	assert_int_not_equal(found.frame, 0);
	assert_false(found.is_done);
	first = path;
	assert_int_not_equal(first, 0);
	waits(SECOND, true);
	second = path;
	assert_true(second && second != first);
	waits(FIRST, true);
	assert_int_equal(path, first);
	for (unsigned i = 0; i < 256; i++) {
		bool is_waiting = i == FIRST || i == SECOND;
		uint64_t addr = waits(i, true);

		assert_int_equal(found.addr, is_waiting ? addr : 0);
		assert_int_equal(found.is_done, i == RETURNED);
		assert_int_not_equal(found.frame, 0);
		assert_int_equal(path != 0, is_waiting);
	}
}

/* Once it is not as the recipe says, it is not believed any more. */
static void test_doubt(void **state)
{
	static struct future future = { .state = FIRST };

	waits(FIRST, true);
	found.addr = (uint64_t)&future;
	assert_int_not_equal(root_future_path(&found), 0);
	future.state = NR_STATES;
	assert_int_equal(root_future_path(&found), 0);
	future.state = FIRST;
	assert_int_equal(root_future_path(&found), 0);
	assert_int_equal(found.addr, 0);
}

/* Where debug info is alone, a pointer of the frame must agree. */
static void test_pointer(void **state)
{
	region->framed[0].has_pointer = true;
	found_at(waits(FIRST, true));
	waits(FIRST, false);
	assert_int_equal(found.addr, 0);
	assert_int_equal(found.frame, 0);
}

/* What a plan says must lie in the frame. */
static NOINLINE void waits_outside(int32_t off, uint32_t bytes, int32_t pointer_off)
{
	struct wire_framed *f = &region->framed[0];

	f->off = off;
	f->bytes = bytes;
	f->pointer_off = pointer_off;
	f->recipe = recipe;
	park();
	nr_calls++;
}

static void test_outside(void **state)
{
	static const struct {
		int32_t off;
		uint32_t bytes;
		int32_t pointer_off;
	} bad[] = { { -8, 8, 0 },	 { 0, 1 << 20, 0 },   { 1 << 20, 8, 0 },
		    { INT32_MIN, 8, 0 }, { INT32_MAX, 8, 0 }, { 0, UINT32_MAX, 0 },
		    { 0, 8, -8 },	 { 0, 8, 1 << 20 },   { 0, 8, INT32_MIN },
		    { 0, 8, 4 } };

	region->framed[0].has_pointer = true;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		is_planned = false;
		waits_outside(bad[i].off, bad[i].bytes, bad[i].pointer_off);
		assert_int_equal(found.frame, 0);
		assert_int_equal(found.addr, 0);
	}
}

/* Behind a pointer: on the stack, above, and waiting. */
static void test_argument(void **state)
{
	static volatile struct future elsewhere = { .state = FIRST };
	volatile struct future future = { .state = FIRST };

	drives(&future);
	assert_int_not_equal(found.addr, 0);
	assert_int_not_equal(path, 0);
	future.state = RETURNED;
	drives(&future);
	assert_int_equal(found.addr, 0);
	assert_true(found.is_done);
	drives(&elsewhere);
	assert_int_equal(found.addr, 0);
	drives(NULL);
	assert_int_equal(found.addr, 0);
	drives((struct future *)UINT64_MAX);
	assert_int_equal(found.addr, 0);
	drives((struct future *)(stack_pointer() - 4096));
	assert_int_equal(found.addr, 0);
}

/* Frames between are passed, up to the outermost one. */
static void test_deeper(void **state)
{
	uint64_t frame;

	/* the plan is for who waits, but the parker is called from elsewhere */
	waits_deeper(0);
	assert_int_equal(found.addr, 0);
	for (unsigned depth = 0; depth < 8; depth++) {
		is_planned = true;
		region->framed[0].addr = (uint64_t)waits_deeper;
		region->framed[0].end_addr = (uint64_t)waits_deeper + 256;
		root_futures_add(region, true);
		outermost = UINT64_MAX;
		found_at(waits_deeper(depth));
		frame = found.frame;
		outermost = frame;
		found_at(waits_deeper(depth));
		outermost = frame - 1;
		waits_deeper(depth);
		assert_int_equal(found.addr, 0);
		assert_int_equal(found.frame, 0);
	}
}

static uint16_t type;
static uint64_t below, called_from;

static NOINLINE void enter(unsigned depth)
{
	volatile char room[100];

	room[depth] = 1;
	if (depth)
		enter(depth - 1);
	else
		type = root_future_type(__builtin_frame_address(0), below);
	called_from = (uint64_t)__builtin_return_address(0);
	nr_calls += room[depth];
}

static NOINLINE void begins(unsigned depth)
{
	below = UINT64_MAX;
	enter(depth);
	nr_calls++;
}

/* As a root that another is around, which is not to lend it its type. */
static NOINLINE void begins_inside(unsigned depth)
{
	below = stack_pointer();
	enter(depth);
	nr_calls++;
}

/* What begins is told by the innermost function that is planned for that, near enough. */
static void test_type(void **state)
{
	enum { FRAMES = 7, OUTER = 41, INNER = 42 };
	void (*const who[])(unsigned) = { begins, begins_inside };

	for (unsigned i = 0; i < 4; i++) {
		who[i / 2](0);
		region->framed[i] = (struct wire_framed){ .addr = called_from - 1,
							  .end_addr = called_from,
							  .type = i % 2 ? INNER : OUTER };
	}
	region->nr_framed = 4;
	root_futures_add(region, true);
	for (unsigned depth = 0; depth <= FRAMES; depth++) {
		begins(depth);
		assert_int_equal(type, INNER);
	}
	begins(FRAMES + 1);
	assert_int_equal(type, EVENT_TYPE_NONE);
	begins_inside(1);
	assert_int_equal(type, EVENT_TYPE_NONE);
	region->framed[0].recipe = region->framed[1].recipe =
		recipe; /* where it waits, not begins */
	begins(1);
	assert_int_equal(type, EVENT_TYPE_NONE);
}

/* A plan that does not fit together is none. */
static void test_unsound(void **state)
{
	region->nodes[region->edges[recipe].node].bytes = 3;
	waits(FIRST, true);
	assert_int_equal(found.addr, 0);
	region->nodes[region->edges[recipe].node].bytes = 1;
	is_planned = false;
	region->nr_framed = UINT32_MAX;
	waits(FIRST, true);
	assert_int_not_equal(found.addr, 0);
	region->nr_framed = 0;
	is_planned = false;
	waits(FIRST, true);
	assert_int_equal(found.addr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, set_up, end),
		cmocka_unit_test_setup_teardown(test_doubt, set_up, end),
		cmocka_unit_test_setup_teardown(test_pointer, set_up, end),
		cmocka_unit_test_setup_teardown(test_outside, set_up, end),
		cmocka_unit_test_setup_teardown(test_argument, set_up, end),
		cmocka_unit_test_setup_teardown(test_deeper, set_up, end),
		cmocka_unit_test_setup_teardown(test_type, set_up, end),
		cmocka_unit_test_setup_teardown(test_unsound, set_up, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
