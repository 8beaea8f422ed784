// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that trees are what memory says: on types that the test made up, in place of debug info,
 * and on tasks that change while they are looked at.
 */
#include "walk/walker.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "memory/fake.h"
#include "runtime/task.h"

#define HEAP	   UINT64_C(0x7f0000000000)
#define BOX	   UINT64_C(0x7f1000000000)
#define TABLE	   0x400000
#define VTABLE	   0x500000
#define ID_OFF	   40
#define STAGE_OFF  48
#define CELL	   256
#define CELL_ALIGN 128
#define IDLE	   (2 << 6 | 8)
#define RUNNING	   1

/* ---- types, as debug info would tell them ---- */

enum {
	U8,
	U64,
	SLEEP,
	INNER,
	BOX_INNER,
	DYN,
	OUTER,
	ARMS,
	STAGE,
	CORE,
	CELL_TYPE,
	S,
	T_MAYBE,
	BOX_OUTER,
	TRAIT,
	NR_TYPES
};

static const struct layout_member sleep_members[] = { { "deadline", S, 0 } };
static const struct layout_member instant[] = { { "tv_sec", U64, 0 }, { "tv_nsec", U64, 8 } };
/* An async fn that awaits a Sleep at line 20: state at 16. */
static const struct layout_member inner_saved[] = { { "__awaitee", SLEEP, 0 } };
static const struct layout_variant inner_variants[] = {
	{ .name = "Unresumed", .value = 0, .awaitee = -1, .file = "a.rs", .line = 18 },
	{ .name = "Returned", .value = 1, .awaitee = -1, .file = "a.rs", .line = 22 },
	{ .name = "Panicked", .value = 2, .awaitee = -1, .file = "a.rs", .line = 22 },
	{ .name = "Suspend0",
	  .value = 3,
	  .members = inner_saved,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "a.rs",
	  .line = 20 },
};
static const struct layout_member maybe_future[] = { { "__0", INNER, 8 } };
static const struct layout_variant maybe_variants[] = {
	{ .name = "Future", .value = 0, .members = maybe_future, .nr_members = 1, .awaitee = -1 },
	{ .name = "Done", .value = 1, .awaitee = -1 },
};
static const struct layout_member arms[] = { { "__0", T_MAYBE, 0 }, { "__1", T_MAYBE, 32 } };
static const struct layout_member fat[] = { { "pointer", U64, 0 }, { "vtable", U64, 8 } };
/* One that awaits itself at line 40, through a box at 41, a dyn at 42, or two of them at 43: state
 * at 72. */
static const struct layout_member by_value[] = { { "n", U64, 64 }, { "__awaitee", INNER, 0 } };
static const struct layout_member boxed[] = { { "__awaitee", BOX_INNER, 0 } };
static const struct layout_member dynamic[] = { { "__awaitee", DYN, 0 } };
static const struct layout_member joined[] = { { "__awaitee", ARMS, 0 } };
static const struct layout_member endless[] = { { "__awaitee", BOX_OUTER, 0 } };
static const struct layout_member by_trait[] = { { "__awaitee", TRAIT, 0 } };
static const struct layout_variant outer_variants[] = {
	{ .name = "Unresumed", .value = 0, .awaitee = -1, .file = "b.rs", .line = 38 },
	{ .name = "Returned", .value = 1, .awaitee = -1, .file = "b.rs", .line = 50 },
	{ .name = "Panicked", .value = 2, .awaitee = -1, .file = "b.rs", .line = 50 },
	{ .name = "Suspend0",
	  .value = 3,
	  .members = by_value,
	  .nr_members = 2,
	  .nr_saved = 2,
	  .awaitee = 1,
	  .file = "b.rs",
	  .line = 40 },
	{ .name = "Suspend1",
	  .value = 4,
	  .members = boxed,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "b.rs",
	  .line = 41 },
	{ .name = "Suspend2",
	  .value = 5,
	  .members = dynamic,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "b.rs",
	  .line = 42 },
	{ .name = "Suspend3",
	  .value = 6,
	  .members = joined,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "b.rs",
	  .line = 43,
	  .last_line = 45 },
	{ .name = "Suspend4",
	  .value = 7,
	  .members = endless,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "b.rs",
	  .line = 46 },
	{ .name = "Suspend5",
	  .value = 8,
	  .members = by_trait,
	  .nr_members = 1,
	  .nr_saved = 1,
	  .file = "b.rs",
	  .line = 47 },
};
static const struct layout_member running[] = { { "__0", OUTER, 8 } };
static const struct layout_variant stage_variants[] = {
	{ .name = "Running", .value = 0, .members = running, .nr_members = 1, .awaitee = -1 },
	{ .name = "Finished", .value = 1, .awaitee = -1 },
};
static const struct layout_member core_members[] = { { "stage", STAGE, STAGE_OFF } };
static const struct layout_member cell_members[] = { { "core", CORE, 0 } };

#define MEMBERS(m)  .members = m, .nr_members = ARRAY_SIZE(m)
#define VARIANTS(v) .variants = v, .nr_variants = ARRAY_SIZE(v)

static const struct layout types[NR_TYPES] = {
	[U8] = { .name = "u8", .kind = LAYOUT_NUMBER, .size_bytes = 1 },
	[U64] = { .name = "u64", .kind = LAYOUT_NUMBER, .size_bytes = 8 },
	[S] = { .name = "S", .kind = LAYOUT_STRUCT, .size_bytes = 16, MEMBERS(instant) },
	[SLEEP] = { .name = "tokio::time::sleep::Sleep",
		    .kind = LAYOUT_STRUCT,
		    .size_bytes = 16,
		    .is_future = true,
		    MEMBERS(sleep_members) },
	[INNER] = { .name = "inner",
		    .kind = LAYOUT_COROUTINE,
		    .size_bytes = 24,
		    .discr_off = 16,
		    .discr_bytes = 1,
		    .is_future = true,
		    .function = "a::inner",
		    .file = "a.rs",
		    VARIANTS(inner_variants) },
	[BOX_INNER] = { .name = "alloc::boxed::Box<inner>",
			.kind = LAYOUT_POINTER,
			.size_bytes = 8,
			.target = INNER },
	[DYN] = { .name = "alloc::boxed::Box<dyn Future>",
		  .kind = LAYOUT_STRUCT,
		  .size_bytes = 16,
		  MEMBERS(fat) },
	[TRAIT] = { .name = "alloc::boxed::Box<(dyn shop::Connection + Send)>",
		    .kind = LAYOUT_STRUCT,
		    .size_bytes = 16,
		    MEMBERS(fat) },
	[BOX_OUTER] = { .name = "alloc::boxed::Box<outer>",
			.kind = LAYOUT_POINTER,
			.size_bytes = 8,
			.target = OUTER },
	[T_MAYBE] = { .name = "MaybeDone<inner>",
		      .kind = LAYOUT_ENUM,
		      .size_bytes = 32,
		      .discr_bytes = 8,
		      .is_future = true,
		      VARIANTS(maybe_variants) },
	[ARMS] = { .name = "(MaybeDone<inner>, MaybeDone<inner>)",
		   .kind = LAYOUT_STRUCT,
		   .size_bytes = 64,
		   MEMBERS(arms) },
	[OUTER] = { .name = "outer",
		    .kind = LAYOUT_COROUTINE,
		    .size_bytes = 80,
		    .discr_off = 72,
		    .discr_bytes = 1,
		    .is_future = true,
		    .function = "b::outer",
		    .file = "b.rs",
		    VARIANTS(outer_variants) },
	[STAGE] = { .name = "Stage<outer>",
		    .kind = LAYOUT_ENUM,
		    .size_bytes = 88,
		    .discr_bytes = 8,
		    VARIANTS(stage_variants) },
	[CORE] = { .name = "Core",
		   .kind = LAYOUT_STRUCT,
		   .size_bytes = 200,
		   MEMBERS(core_members) },
	[CELL_TYPE] = { .name = "tokio::runtime::task::core::Cell<outer, S>",
			.kind = LAYOUT_STRUCT,
			.size_bytes = CELL,
			.align = CELL_ALIGN,
			MEMBERS(cell_members) },
};

static const struct layout nothing = { .name = "", .target = LAYOUT_NONE };

struct layouts *layouts_open(const char *path, const char *cache_dir, const char **why)
{
	return NULL;
}

void layouts_close(struct layouts *l)
{
}

const struct layout *layouts_get(struct layouts *l, uint32_t type)
{
	return type < NR_TYPES ? &types[type] : &nothing;
}

uint32_t layouts_of_function(struct layouts *l, uint64_t va, const char *param)
{
	return *param == 'T' ? OUTER : S;
}

uint32_t layouts_of_vtable(struct layouts *l, uint64_t va)
{
	return va == VTABLE ? INNER : LAYOUT_NONE;
}

uint32_t layouts_named(struct layouts *l, const char *name)
{
	return strcmp(name, types[CELL_TYPE].name) == 0 ? CELL_TYPE : LAYOUT_NONE;
}

uint64_t layouts_nr_broken(const struct layouts *l)
{
	return 0;
}

const struct layout_member *layout_member(const struct layout *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr_members; i++)
		if (strcmp(t->members[i].name, name) == 0)
			return &t->members[i];
	return NULL;
}

const struct layout_variant *layout_variant(const struct layout *t, uint64_t value)
{
	for (uint32_t i = 0; i < t->nr_variants; i++)
		if (t->variants[i].value == value)
			return &t->variants[i];
	return NULL;
}

/* ---- a world with one task ---- */

struct world {
	struct fake *f;
	struct objects objects;
	struct discovery d;
	struct found_runtime runtime;
	struct found_table table;
	struct census census;
	/* what was told of the task */
	struct walk_result result;
	size_t nr_nodes, nr_leaves;
	bool is_cut;
	uint64_t local; /* the first */
	char text[512];
};

#define FUTURE (HEAP + STAGE_OFF + 8)

static void put_header(struct world *w, uint64_t addr)
{
	fake_put(w->f, addr, IDLE);
	fake_put(w->f, addr + 16, TABLE);
	fake_put(w->f, addr + 24, 1);
	fake_put(w->f, addr + ID_OFF, 7);
}

static void world_init(struct world *w)
{
	*w = (struct world){ .f = fake_new() };
	w->table = (struct found_table){
		.kind = TRACE_TASK,
		.name = "outer",
		.plan = { .va = TABLE, .kind = WIRE_TABLE_TOKIO, .id_off = ID_OFF },
	};
	w->d = (struct discovery){
		.runtimes = &w->runtime,
		.nr_runtimes = 1,
		.tables = &w->table,
		.nr_tables = 1,
	};
	vec_push(&w->objects.list,
		 (struct object){ .d = &w->d, .layouts = (struct layouts *)&w->d });
	fake_add(w->f, HEAP, 0x1000);
	fake_add(w->f, BOX, 0x1000);
	memory_settle(&w->f->m);
	put_header(w, HEAP);
}

static void world_release(struct world *w)
{
	census_release(&w->census);
	vec_release(&w->objects.list);
	memory_close(&w->f->m);
}

static void put_state(struct world *w, uint64_t future, uint64_t state)
{
	fake_put(w->f, future + 72, state);
}

/* One that sleeps until 5.000000006 s. */
static void put_inner(struct world *w, uint64_t addr, uint64_t state)
{
	fake_put(w->f, addr, 5);
	fake_put(w->f, addr + 8, 6);
	fake_put(w->f, addr + 16, state);
}

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	static const char *const states[] = { "", " new", " done", " panicked", " disabled" };
	struct world *w = arg;
	struct strbuf text = STRBUF_INIT;

	assert_int_equal(index, 0);
	w->result = *r;
	w->nr_nodes = r->tree->nodes.nr;
	w->nr_leaves = 0;
	w->is_cut = r->tree->is_cut;
	w->local = r->tree->locals.nr ? r->tree->locals.v[0].number : 0;
	vec_each (n, &r->tree->nodes) {
		w->nr_leaves += n->leaf != LEAF_KIND_NONE;
		strbuf_addf(&text, "%s%u", text.len ? ", " : "", n->depth);
		if (tree_is_generated(n))
			strbuf_addf(&text, " %s:%u", n->type->function, n->variant->line);
		else
			strbuf_addf(&text, " %s",
				    n->leaf ? leaf_kind_name(n->leaf) : n->type->name);
		for (uint32_t i = 0; i < n->nr_values; i++)
			strbuf_addf(
				&text, " %llu",
				(unsigned long long)r->tree->values.v[n->first_value + i].number);
		strbuf_addstr(&text, states[n->state]);
	}
	snprintf(w->text, sizeof(w->text), "%s", text.s);
	strbuf_release(&text);
}

static void walk(struct world *w, enum walk_status status)
{
	if (!w->census.memory)
		census_init(&w->census, &w->f->m, &w->objects);
	assert_int_equal(w->census.tasks.nr, 1);
	w->result.status = -1;
	walk_tasks(&w->census, &(struct walk_opts){ .locals = true }, on_task, w);
	assert_int_equal(w->result.status, status);
}

static void test_await(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 0);
	walk(&w, WALK_OK);
	assert_string_equal(w.text, "0 b::outer:38 new");
	put_state(&w, FUTURE, 3);
	put_inner(&w, FUTURE, 3);
	fake_put(w.f, FUTURE + 64, 1234);
	walk(&w, WALK_OK);
	assert_string_equal(w.text, "0 b::outer:40, 1 a::inner:20, 2 sleep 5000000006");
	assert_int_equal(w.result.state, TASK_IDLE);
	world_release(&w);
}

static void test_box(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 4);
	fake_put(w.f, FUTURE, BOX);
	put_inner(&w, BOX, 3);
	walk(&w, WALK_OK);
	assert_string_equal(w.text, "0 b::outer:41, 1 a::inner:20, 2 sleep 5000000006");
	fake_put(w.f, FUTURE, 0x10); /* leads nowhere */
	walk(&w, WALK_BROKEN);
	fake_put(w.f, FUTURE, BOX + 0x1000 - 8); /* its end does */
	walk(&w, WALK_BROKEN);
	world_release(&w);
}

/* A box of any future; and one of something that is none, which is entered if a future can be in
 * it. */
static void test_dyn(void **state)
{
	static const struct {
		uint64_t state;
		const char *known, *unknown;
	} boxes[] = {
		{ 5, "0 b::outer:42, 1 a::inner:20, 2 sleep 5000000006", "0 b::outer:42, 1 other" },
		{ 8, "0 b::outer:47, 1 a::inner:20, 2 sleep 5000000006", "0 b::outer:47, 1 other" },
	};
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		world_init(&w);
		put_state(&w, FUTURE, boxes[i].state);
		fake_put(w.f, FUTURE, BOX);
		fake_put(w.f, FUTURE + 8, VTABLE);
		put_inner(&w, BOX, 3);
		walk(&w, WALK_OK);
		assert_string_equal(w.text, boxes[i].known);
		fake_put(w.f, FUTURE + 8, VTABLE + 8); /* some future, nobody knows which */
		walk(&w, WALK_OK);
		assert_string_equal(w.text, boxes[i].unknown);
		world_release(&w);
	}
}

static void test_several(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 6);
	put_inner(&w, FUTURE + 8, 3);
	put_inner(&w, FUTURE + 40, 0);
	walk(&w, WALK_OK);
	assert_string_equal(w.text, "0 b::outer:43, 1 MaybeDone<inner>, 2 a::inner:20, "
				    "3 sleep 5000000006, 1 MaybeDone<inner>, 2 a::inner:18 new");
	fake_put(w.f, FUTURE + 32, 1);
	walk(&w, WALK_OK);
	assert_string_equal(w.text, "0 b::outer:43, 1 MaybeDone<inner>, 2 a::inner:20, "
				    "3 sleep 5000000006, 1 MaybeDone<inner> done");
	world_release(&w);
}

/* Who has finished is not awaited; and there is no such state. */
static void test_what_cannot_be(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 3);
	for (uint64_t i = 1; i < 256; i++) {
		put_inner(&w, FUTURE, i);
		walk(&w, i == 3 ? WALK_OK : WALK_BROKEN);
	}
	world_release(&w);
}

static void test_running(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 3);
	put_inner(&w, FUTURE, 3);
	fake_put(w.f, HEAP, IDLE | RUNNING);
	walk(&w, WALK_RUNNING);
	assert_int_equal(w.result.state, TASK_RUNNING);
	assert_int_equal(w.nr_nodes, 0);
	world_release(&w);
}

static void test_gone(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 0);
	walk(&w, WALK_OK);
	fake_put(w.f, HEAP + ID_OFF, 8); /* another task, of the same type, at the same place */
	walk(&w, WALK_GONE);
	fake_put(w.f, HEAP + ID_OFF, 7);
	fake_put(w.f, HEAP, IDLE | 2); /* complete */
	walk(&w, WALK_GONE);
	fake_put(w.f, HEAP + 16, 0);
	walk(&w, WALK_GONE);
	world_release(&w);
}

/* What looks like a task, but lies where none can lie: another object was moved over it. */
static void test_misplaced(void **state)
{
	static const uint64_t offs[] = { 4 * CELL_ALIGN, 4 * CELL_ALIGN + 8 };
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		world_init(&w);
		fake_put(w.f, HEAP + 16, 0);
		put_header(&w, HEAP + offs[i]);
		put_state(&w, FUTURE + offs[i], 0);
		walk(&w, i ? WALK_GONE : WALK_OK);
		world_release(&w);
	}
}

/* The task is polled once between the first read and the second: only a counter tells. */
static void poll_once(struct fake *f, uint64_t addr)
{
	uint64_t *nr = f->arg;

	if (addr <= HEAP && ++*nr == 2)
		fake_put(f, FUTURE + 64, 99);
}

static void test_polled_meanwhile(void **state)
{
	uint64_t nr = 0;
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 3);
	put_inner(&w, FUTURE, 3);
	walk(&w, WALK_OK);
	w.f->before = poll_once;
	w.f->arg = &nr;
	walk(&w, WALK_OK);
	assert_true(nr > 3); /* tried again */
	assert_int_equal(w.local, 99);
	world_release(&w);
}

/* And now it is polled all the time. */
static void poll_always(struct fake *f, uint64_t addr)
{
	fake_put(f, FUTURE + 64, ++*(uint64_t *)f->arg);
}

static void test_polled_all_the_time(void **state)
{
	uint64_t nr = 0;
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 3);
	put_inner(&w, FUTURE, 3);
	walk(&w, WALK_OK);
	w.f->before = poll_always;
	w.f->arg = &nr;
	walk(&w, WALK_RUNNING);
	assert_in_range(nr, 40, 200); /* and it came to an end */
	world_release(&w);
}

/* A future that awaits itself. */
static void test_no_end(void **state)
{
	struct world w;

	world_init(&w);
	put_state(&w, FUTURE, 7);
	fake_put(w.f, FUTURE, FUTURE);
	walk(&w, WALK_OK);
	assert_in_range(w.nr_nodes, 400, 100000);
	assert_true(w.is_cut);
	assert_int_equal(w.nr_leaves, 0); /* what is cut off is none */
	world_release(&w);
}

static void test_no_debug_info(void **state)
{
	struct world w;

	world_init(&w);
	w.objects.list.v[0].layouts = NULL;
	walk(&w, WALK_UNKNOWN);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_await),
		cmocka_unit_test(test_box),
		cmocka_unit_test(test_dyn),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_misplaced),
		cmocka_unit_test(test_polled_meanwhile),
		cmocka_unit_test(test_polled_all_the_time),
		cmocka_unit_test(test_no_end),
		cmocka_unit_test(test_no_debug_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
