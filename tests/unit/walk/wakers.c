// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that tasks without a waker are found by their own count, and that neither a waker nor a
 * future that is made to wait for ever is overlooked.
 */
#include "walk/ties.h"

#include "memory/fake.h"

#define TASK	  0x400000 /* table of Tokio's tasks */
#define COUNTED	  0x400200 /* table of async-task's */
#define HEAP	  UINT64_C(0x7f0000000000)
#define LENGTH	  (UINT64_C(1) << 18)
#define ID_OFF	  40
#define OWNED	  (1 << 6)     /* by its runtime's list */
#define JOINED	  (1 << 6 | 8) /* somebody has its JoinHandle */
#define WAKER	  (1 << 6)
#define NOTIFIED  4
#define REFERENCE 256
#define WANTED	  16 /* async-task's TASK: somebody has its handle */
#define NR_TABLES 2

/* ---- types, as debug info would tell them ---- */

enum { BARE, BY_EXECUTOR, NR_TYPES };

static const struct layout types[NR_TYPES] = {
	[BARE] = { .name = "shop::checkout::{async_fn_env#0}", .kind = LAYOUT_COROUTINE },
	[BY_EXECUTOR] = { .name = "async_executor::AsyncCallOnDrop<shop::checkout, C>",
			  .kind = LAYOUT_STRUCT },
};
static uint32_t future_type;

struct layouts *layouts_open(const char *path, const char *cache_dir, const char **why)
{
	return NULL;
}

void layouts_close(struct layouts *l)
{
}

const struct layout *layouts_get(struct layouts *l, uint32_t type)
{
	return &types[type];
}

uint32_t layouts_of_function(struct layouts *l, uint64_t va, const char *param)
{
	return future_type;
}

uint32_t layouts_of_vtable(struct layouts *l, uint64_t va)
{
	return LAYOUT_NONE;
}

uint32_t layouts_named(struct layouts *l, const char *name)
{
	return LAYOUT_NONE;
}

const struct layout_member *layout_member(const struct layout *t, const char *name)
{
	return NULL;
}

const struct layout_variant *layout_variant(const struct layout *t, uint64_t value)
{
	return NULL;
}

/* ---- memory ---- */

struct world {
	struct fake *f;
	struct objects objects;
	struct discovery d;
	struct found_runtime runtimes[2];
	struct found_table tables[NR_TABLES];
	struct census census;
	struct ties ties;
	struct stuck_list found;
};

static int setup(void **state)
{
	static const struct wire_table plans[NR_TABLES] = {
		{ .va = TASK, .kind = WIRE_TABLE_TOKIO, .id_off = ID_OFF },
		{ .va = COUNTED, .kind = WIRE_TABLE_ASYNC_TASK },
	};
	struct world *w = xcalloc(1, sizeof(*w));

	w->f = fake_new();
	for (unsigned i = 0; i < ARRAY_SIZE(w->runtimes); i++)
		w->runtimes[i].descriptor = i; /* Tokio, async-task */
	for (unsigned i = 0; i < NR_TABLES; i++)
		w->tables[i] = (struct found_table){
			.plan = plans[i],
			.kind = TRACE_TASK,
			.runtime = plans[i].kind == WIRE_TABLE_ASYNC_TASK,
		};
	w->d = (struct discovery){ .runtimes = w->runtimes,
				   .nr_runtimes = 2,
				   .tables = w->tables,
				   .nr_tables = NR_TABLES };
	vec_push(&w->objects.list,
		 (struct object){ .d = &w->d, .layouts = (struct layouts *)types });
	fake_add(w->f, HEAP, LENGTH);
	memory_settle(&w->f->m);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	stuck_release(&w->found);
	ties_release(&w->ties);
	census_release(&w->census);
	vec_release(&w->objects.list);
	memory_close(&w->f->m);
	free(w);
	return 0;
}

static uint64_t task_at(unsigned i)
{
	return HEAP + 0x1000 + i * 0x100;
}

static void put_tokio(struct world *w, unsigned i, uint64_t task_state)
{
	fake_put(w->f, task_at(i), task_state);
	fake_put(w->f, task_at(i) + 16, TASK);
	fake_put(w->f, task_at(i) + 24, 7); /* its owner */
	fake_put(w->f, task_at(i) + ID_OFF, i + 1);
}

static void put_counted(struct world *w, unsigned i, uint64_t refs)
{
	fake_put(w->f, task_at(i), COUNTED);
	fake_put(w->f, task_at(i) + 8, refs * REFERENCE | WANTED);
}

/* Takes the census; all tasks wait for something that no rule knows. */
static void look(struct world *w, bool is_never)
{
	struct tree tree = { 0 };

	census_init(&w->census, &w->f->m, &w->objects);
	ties_init(&w->ties, &w->census);
	vec_push(&tree.nodes, (struct tree_node){ .type = &types[BARE],
						  .parent = TREE_NO_NODE,
						  .leaf = LEAF_KIND_OTHER,
						  .is_never = is_never });
	for (size_t i = 0; i < w->census.tasks.nr; i++)
		ties_add(&w->ties, i, &tree);
	ties_settle(&w->ties);
	tree_release(&tree);
}

static bool is_named(const struct world *w, unsigned i)
{
	vec_each (s, &w->found.all)
		vec_each (t, &s->tasks)
			if (w->census.tasks.v[t->wants->task].addr == task_at(i))
				return true;
	return false;
}

/* What is neither the list's nor the JoinHandle's is a waker, or an AbortHandle. */
static void test_tokio(void **state)
{
	static const uint64_t states[] = { OWNED, OWNED + JOINED, OWNED + WAKER,
					   OWNED + JOINED + WAKER, OWNED + 300 * WAKER };
	struct world *w = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(states); i++)
		put_tokio(w, i, states[i]);
	look(w, false);
	ties_find_without_waker(&w->ties, &w->found);
	assert_int_equal(w->found.all.nr, 1);
	assert_string_equal(w->found.all.v[0].rule, "no-waker");
	for (unsigned i = 0; i < ARRAY_SIZE(states); i++)
		assert_int_equal(is_named(w, i), i < 2);
}

/* Who was woken since it was looked at is not stuck, nor who has a waker again. */
static void test_woken_meanwhile(void **state)
{
	struct world *w = *state;

	put_tokio(w, 0, OWNED);
	put_tokio(w, 1, OWNED);
	look(w, false);
	fake_put(w->f, task_at(0), OWNED | NOTIFIED);
	fake_put(w->f, task_at(1), OWNED + WAKER);
	ties_find_without_waker(&w->ties, &w->found);
	assert_int_equal(w->found.all.nr, 0);
}

/* Of async-task's references one may be the executor's: then it wraps the future. */
static void test_count(void **state)
{
	struct world *w = *state;

	put_counted(w, 0, 0);
	put_counted(w, 1, 1);
	put_counted(w, 2, 2);
	look(w, false);
	future_type = BARE;
	ties_find_without_waker(&w->ties, &w->found);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(is_named(w, i), i == 0);
	stuck_release(&w->found);
	future_type = BY_EXECUTOR;
	ties_find_without_waker(&w->ties, &w->found);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(is_named(w, i), i <= 1);
}

static void test_for_ever(void **state)
{
	struct world *w = *state;

	put_tokio(w, 0, OWNED);
	put_counted(w, 1, 0);
	look(w, true);
	ties_find_without_waker(&w->ties, &w->found);
	assert_int_equal(w->census.tasks.nr, 2);
	assert_int_equal(w->found.all.nr, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tokio, setup, teardown),
		cmocka_unit_test_setup_teardown(test_woken_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_for_ever, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
