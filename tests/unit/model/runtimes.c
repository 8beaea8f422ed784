// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which runtime a task and a thread belong to, where one copy of the code made several. */
#include "unit.h"

#include "model/recording.h"
#include "script.h"

enum { MULTI, CURRENT, SET, OTHER, NR_RUNTIMES }; /* in the order of copy and owner */

static const struct trace_runtime copies[] = { { 0, "tokio", "1.54.1" }, { 1, "smol", "2.0" } };
/* numbered as they were seen; that of number 4 is of no type, 5 was not defined */
static const struct trace_instance instances[] = {
	{ 0 }, { SET, 9 }, { MULTI, 3 }, { CURRENT, 5 }, { 99, 1 }, { 0 },
};
enum { CLOSURE = OTHER + 1, WORKER, ROOT };
static const struct trace_type types[] = {
	[MULTI] = { .runtime = 0, .name = "a", .scheduler = "multi_thread" },
	[CURRENT] = { .runtime = 0, .name = "b", .scheduler = "current_thread" },
	[SET] = { .runtime = 0, .kind = TRACE_LOCAL, .name = "c", .scheduler = "local" },
	[OTHER] = { .runtime = 1, .name = "d", .scheduler = "" },
	[CLOSURE] = { .runtime = 0, .kind = TRACE_BLOCKING, .name = "e", .scheduler = "blocking" },
	[WORKER] = { .runtime = 0, .kind = TRACE_HELPER, .name = "f", .scheduler = "blocking" },
	[ROOT] = { .runtime = 0, .kind = TRACE_BLOCK_ON, .name = "g", .scheduler = "" },
};

/* tasks that were spawned on number 1 stay on their thread; roots of a multi_thread runtime begin
 * on number 2 */
static const struct trace_stack stacks[] = { { "a.rs", 1 },
					     { "a.rs", 2, .is_local = true },
					     { "a.rs", 3, .scheduler = "multi_thread" } };

#define ON_STACK(t, th, nr)                                              \
	{                                                                \
		.time = t, .thread = th, .kind = EV_SPAWN_STACK, .a = nr \
	}
#define OWNED(t, th, nr)                                              \
	{                                                             \
		.time = t, .thread = th, .kind = EV_INSTANCE, .a = nr \
	}
#define HOLE(t, th)                                                      \
	{                                                                \
		.time = t, .thread = th, .kind = EV_LOST, .a = 0, .b = 1 \
	}
#define DONE(t, th, id, ty) START(t, th, id, ty, 0), END(t + 1, th, COMPLETE)

/* The recording is the caller's to release. */
static void play_into(struct recording *rec, struct told *told,
		      const struct trace_instance *defined, uint32_t nr_instances,
		      const struct event *evs, size_t nr)
{
	struct model *m = model_new(types, ARRAY_SIZE(types));

	memset(told, 0, sizeof(*told));
	*rec = (struct recording){ .types = types, .nr_types = ARRAY_SIZE(types) };
	recording_make_runtimes(rec, copies, ARRAY_SIZE(copies), defined, nr_instances);
	model_set_runtimes(m, &rec->model_runtimes);
	model_set_stacks(m, stacks, ARRAY_SIZE(stacks));
	model_add_sink(m, &told_ops, told);
	model_feed(m, evs, nr);
	model_finish(m, 1000, NULL);
	recording_learn_runtimes(rec, m);
	model_free(m);
}

static void play_defined(struct told *told, const struct trace_instance *defined,
			 uint32_t nr_instances, const struct event *evs, size_t nr)
{
	struct recording rec;

	play_into(&rec, told, defined, nr_instances, evs, nr);
	recording_release_runtimes(&rec);
}

#define PLAY_DEFINED(told, defined, nr_instances, ...)                             \
	do {                                                                       \
		static const struct event evs_[] = { __VA_ARGS__ };                \
		play_defined(told, defined, nr_instances, evs_, ARRAY_SIZE(evs_)); \
	} while (0)
#define PLAY_RUNTIMES(told, nr_instances, ...) \
	PLAY_DEFINED(told, instances, nr_instances, __VA_ARGS__)

static uint32_t of(struct told *told, uint64_t id)
{
	return told_find(told, id)->key.runtime;
}

/* Runtimes are in order of copy and owner, whatever the order in the file; a copy without any is
 * one. */
static void test_order(void **state)
{
	struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };
	char *name;

	recording_make_runtimes(&rec, copies, ARRAY_SIZE(copies), instances, 6);
	assert_int_equal(rec.nr_runtimes, NR_RUNTIMES);
	assert_int_equal(rec.runtimes[MULTI].owner, 3);
	assert_int_equal(rec.runtimes[SET].owner, 9);
	assert_int_equal(rec.runtimes[OTHER].owner, 0);
	assert_string_equal(rec.runtimes[OTHER].name, "smol");
	name = recording_runtime_name(&rec, SET);
	assert_string_equal(name, "tokio LocalSet #2");
	free(name);
	assert_int_equal(recording_type_runtime(&rec, MULTI), MODEL_NO_RUNTIME);
	assert_int_equal(recording_type_runtime(&rec, OTHER), OTHER);
	assert_int_equal(recording_type_runtime(&rec, EVENT_TYPE_NONE), MODEL_NO_RUNTIME);
	recording_release_runtimes(&rec);
}

/* A task is its owner's, whoever's tasks the thread runs later; what nothing is known of is
 * nobody's. */
static void test_tasks(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 6, START(1, 0, 1, MULTI, 0), END(2, 0, 0), OWNED(3, 0, 2),
		      DONE(3, 0, 2, MULTI), OWNED(5, 0, 3), DONE(5, 0, 3, CURRENT),
		      DONE(7, 0, 1, MULTI), OWNED(9, 0, 1), DONE(9, 0, 4, SET),
		      DONE(11, 0, 5, OTHER), OWNED(13, 0, 77), DONE(13, 0, 6, MULTI),
		      OWNED(15, 0, 2), HOLE(16, 0), DONE(17, 0, 7, MULTI));
	assert_int_equal(of(&told, 1), MODEL_NO_RUNTIME);
	assert_int_equal(of(&told, 2), MULTI);
	assert_int_equal(of(&told, 3), CURRENT);
	assert_int_equal(of(&told, 4), SET);
	assert_int_equal(of(&told, 5), OTHER);
	assert_int_equal(of(&told, 6), MODEL_NO_RUNTIME);
	assert_int_equal(of(&told, 7), MODEL_NO_RUNTIME);
	told_release(&told);
}

/* A closure is the runtime's that its thread serves, or that of who made it; a worker is that of
 * the tasks in its main loop. */
static void test_threads(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 6, START(1, 0, 90, WORKER, 0), OWNED(2, 0, 2),
		      START(2, 0, 1, MULTI, 0), SPAWN(3, 0, 0x2000), SPAWN(3, 0, 0x3000),
		      END(4, 0, COMPLETE), OWNED(5, 1, 1), DONE(5, 1, 4, SET), OWNED(7, 1, 3),
		      DONE(7, 1, 5, CURRENT), SPAWN(9, 1, 0x6000), DONE(10, 2, 2, CLOSURE),
		      DONE(12, 3, 6, CLOSURE), DONE(14, 3, 7, CLOSURE), DONE(16, 4, 8, CLOSURE),
		      END(18, 0, COMPLETE), DONE(19, 0, 9, CLOSURE));
	assert_int_equal(of(&told, 2), MULTI);		  /* made by a task */
	assert_int_equal(of(&told, 6), CURRENT);	  /* by a thread */
	assert_int_equal(of(&told, 7), CURRENT);	  /* on the same thread as that */
	assert_int_equal(of(&told, 8), MODEL_NO_RUNTIME); /* by nobody that was seen */
	assert_int_equal(of(&told, 9), MULTI);		  /* on what was a worker */
	assert_int_equal(told.threads.v[0].runtime, MULTI);
	assert_int_equal(told.threads.v[0].kind, MODEL_WORKER);
	assert_int_equal(told.threads.v[1].runtime, CURRENT); /* which the set runs in */
	assert_int_equal(told.threads.v[2].runtime, MULTI);
	assert_int_equal(told.threads.v[2].kind, MODEL_BLOCKING);
	assert_int_equal(told.threads.v[4].runtime, MODEL_NO_RUNTIME);
	told_release(&told);
}

/* A worker that has not run a task is not of the runtime that its maker works for: that makes
 * another one just now. One that a task makes, as block_in_place does, is of the task's. */
static void test_new_worker(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 6, OWNED(1, 0, 3), DONE(1, 0, 1, CURRENT), SPAWN(3, 0, 0x2000),
		      DONE(5, 1, 2, WORKER), OWNED(7, 2, 2), START(7, 2, 3, MULTI, 0),
		      SPAWN(8, 2, 0x4000), END(9, 2, COMPLETE), DONE(10, 3, 4, WORKER));
	assert_int_equal(told.threads.v[0].runtime, CURRENT);
	assert_int_equal(told.threads.v[1].runtime, MODEL_NO_RUNTIME);
	assert_int_equal(told.threads.v[3].runtime, MULTI);
	told_release(&told);
}

/* A root keeps others waiting where its thread runs tasks as well, not where it did so before. */
static void test_root_alone(void **state)
{
	static const bool want[] = { true, false, true, true };
	struct told told;
	size_t nr = 0;

	PLAY_RUNTIMES(&told, 6, SPAWN(1, 0, 0x7f00), START_AT(1, 0, 0x7f00, ROOT, 0x7f00, 0),
		      END(2, 0, 0), OWNED(3, 0, 3), DONE(3, 0, 1, CURRENT),
		      START_AT(5, 0, 0x7f00, ROOT, 0x7f00, 0), END(6, 0, COMPLETE),
		      SPAWN(7, 0, 0x7e00), START_AT(7, 0, 0x7e00, ROOT, 0x7e00, 0), END(8, 0, 0),
		      OWNED(9, 1, 2), DONE(9, 1, 2, MULTI),
		      START_AT(11, 0, 0x7e00, ROOT, 0x7e00, 0), END(12, 0, COMPLETE));
	vec_each (r, &told.runs)
		if (r->thread == 0 && r->start_ns != 3) {
			assert_true(nr < ARRAY_SIZE(want));
			assert_int_equal(r->is_alone, want[nr]);
			nr++;
		}
	assert_int_equal(nr, ARRAY_SIZE(want));
	told_release(&told);
}

/* Where there is one runtime, everything is its; but a LocalSet has no pool. */
static void test_only_one(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 0, DONE(1, 0, 1, MULTI), DONE(3, 1, 2, CLOSURE), DONE(5, 2, 3, OTHER));
	assert_int_equal(of(&told, 1), 0);
	assert_int_equal(of(&told, 2), 0);
	assert_int_equal(of(&told, 3), 1);
	told_release(&told);
	PLAY_RUNTIMES(&told, 3, DONE(1, 0, 1, CLOSURE), DONE(3, 1, 2, SET));
	assert_int_equal(of(&told, 1), 0);
	assert_int_equal(of(&told, 2), MODEL_NO_RUNTIME);
	told_release(&told);
}

/* Tasks of a LocalRuntime are local from the first on that shows by its spawn, and no others. */
static void test_local_runtime(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 6, SPAWN(1, 0, 0x1000), ON_STACK(1, 0, 0), OWNED(2, 0, 3),
		      DONE(2, 0, 1, CURRENT), SPAWN(4, 0, 0x2000), ON_STACK(4, 0, 1),
		      DONE(5, 0, 2, CURRENT), SPAWN(7, 0, 0x3000), DONE(8, 0, 3, CURRENT),
		      OWNED(10, 0, 2), DONE(10, 0, 4, MULTI), SPAWN(12, 0, 0x5000),
		      ON_STACK(12, 0, 1), LOST(13, 0, SPAWN, 1), DONE(14, 0, 5, MULTI));
	assert_int_equal(told_find(&told, 1)->kind, TRACE_TASK);
	assert_int_equal(told_find(&told, 2)->kind, TRACE_LOCAL);
	assert_int_equal(told_find(&told, 3)->kind, TRACE_LOCAL);
	assert_int_equal(told_find(&told, 4)->kind, TRACE_TASK);
	assert_int_equal(told_find(&told, 5)->kind, TRACE_TASK); /* the address may be another's */
	told_release(&told);
}

/* A root is the runtime's in whose scheduler its address lies, as far from the beginning as others
 * of that flavour do; of what was there twice nobody knows. */
static void test_root_addresses(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 },
		{ MULTI, 3, 0x10000 },
		{ CURRENT, 5, 0x20000 },
		{ CURRENT, 6, 0x21000 },
		{ SET, 9, 0x20200 },
		{ CURRENT, 7, 0x30000 },
		{ CURRENT, 8, 0x30000 },
		{ ROOT, 0, 0x20220 },
		{ ROOT, 0, 0x21220 },
		{ ROOT, 0, 0x10320 },
		{ ROOT, 0, 0x21c20 }, /* in one behind it, that ran no task */
		{ ROOT, 0, 0x30220 },
		{ ROOT, 0, 0x90000 },
		{ CURRENT, 10, 0x21100 }, /* at another time: nearer to a root, but no other's */
	};
	static const uint64_t owners[] = { 5, 6, 3, 0, 0, 0 }; /* of the roots */
	struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };
	const uint32_t *of_root;

	recording_make_runtimes(&rec, copies, ARRAY_SIZE(copies), some, ARRAY_SIZE(some));
	of_root = rec.model_runtimes.of_instance + 7;
	for (unsigned i = 0; i < ARRAY_SIZE(owners); i++)
		assert_int_equal(of_root[i] == MODEL_NO_RUNTIME ? 0
								: rec.runtimes[of_root[i]].owner,
				 owners[i]);
	assert_int_equal(of_root[3], 7); /* behind the seven that ran tasks, each by itself */
	assert_int_equal(of_root[4], MODEL_NO_RUNTIME);
	assert_int_equal(of_root[5], 8);
	assert_int_equal(rec.nr_runtimes, 10);
	assert_false(rec.runtimes[8].is_whole_copy);
	assert_true(rec.runtimes[9].is_whole_copy);
	recording_release_runtimes(&rec);
}

/* Where a runtime had its scheduler one of another flavour may have it next. How far from it a root
 * lies is then what threads say that were in both, however many pairs say something else. */
static void test_reused_place(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 },
		{ ROOT, 0, 0x10320 },
		{ ROOT, 0, 0x10220 },
		{ ROOT, 0, 0x40100 }, /* of two that ran no task */
		{ ROOT, 0, 0x50100 },
		{ MULTI, 1, 0x10000, .root = 0x10320 },
		{ CURRENT, 2, 0x10000, .root = 0x10220 },
		{ MULTI, 3, 0x40000 },
		{ MULTI, 4, 0x50000 },
	};
	static const uint32_t runtimes[] = { 0, 1, 4, 5 }; /* of the roots */
	struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };

	recording_make_runtimes(&rec, copies, ARRAY_SIZE(copies), some, ARRAY_SIZE(some));
	for (unsigned i = 0; i < ARRAY_SIZE(runtimes); i++)
		assert_int_equal(rec.model_runtimes.of_instance[1 + i], runtimes[i]);
	assert_int_equal(rec.nr_runtimes, 7);
	recording_release_runtimes(&rec);
}

/* Files that do not tell where schedulers are do not tell whose roots are, either. */
static void test_roots_unplaced(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 }, { MULTI, 3 }, { ROOT, 0, 0x10320 }, { ROOT, 0, 0x50000 }
	};
	struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };

	recording_make_runtimes(&rec, copies, ARRAY_SIZE(copies), some, ARRAY_SIZE(some));
	assert_int_equal(rec.nr_runtimes, 2);
	assert_int_equal(rec.model_runtimes.of_instance[2], MODEL_NO_RUNTIME);
	recording_release_runtimes(&rec);
}

/* What a definition tells of its runtime, its type need not: flavour, and that all its tasks stay
 * on their thread, from the first on. */
static void test_told_flavours(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 },
		{ CURRENT, 5, 0x20000, TRACE_LOCAL_RUNTIME },
		{ CURRENT, 6, 0x21000, "" },
		{ ROOT, 0, 0x90000, "current_thread" },
	};
	static const char *const want[] = { TRACE_LOCAL_RUNTIME, "current_thread",
					    "current_thread" };
	struct recording rec = { .types = types, .nr_types = ARRAY_SIZE(types) };
	struct told told;

	recording_make_runtimes(&rec, copies, ARRAY_SIZE(copies), some, ARRAY_SIZE(some));
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++)
		assert_string_equal(rec.runtimes[i].scheduler, want[i]);
	recording_release_runtimes(&rec);
	PLAY_DEFINED(&told, some, ARRAY_SIZE(some), OWNED(1, 0, 1), DONE(1, 0, 1, CURRENT),
		     OWNED(3, 0, 2), DONE(3, 0, 2, CURRENT));
	assert_int_equal(told_find(&told, 1)->kind, TRACE_LOCAL);
	assert_int_equal(told_find(&told, 2)->kind, TRACE_TASK);
	told_release(&told);
}

#define ROOT_AT(t, th, addr) START_AT(t, th, addr, ROOT, addr, 0)

/* A runtime that ran no task is none of the others: its root, its workers and what its root has
 * made are its own. Who only waits in one says nothing about closures. */
static void test_roots_alone(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 }, { MULTI, 3, 0x10000 }, { ROOT, 0, 0x10320 }, { ROOT, 0, 0x50000 }
	};
	enum { KNOWN, ALONE };
	struct told told;

	PLAY_DEFINED(&told, some, 4, OWNED(1, 0, 2), ROOT_AT(1, 0, 0x7f00), END(2, 0, COMPLETE),
		     OWNED(3, 1, 1), DONE(3, 1, 11, MULTI), OWNED(5, 0, 3), ROOT_AT(5, 0, 0x7e00),
		     SPAWN(6, 0, 0xc000), END(7, 0, COMPLETE), SPAWN(8, 0, 0xd000),
		     START(9, 2, 90, WORKER, 0), OWNED(9, 2, 3), ROOT_AT(9, 2, 0x7d00),
		     END(10, 2, 0), END(10, 2, COMPLETE), DONE(12, 3, 12, CLOSURE),
		     DONE(14, 4, 13, CLOSURE));
	assert_int_equal(of(&told, 1), KNOWN);
	assert_int_equal(of(&told, 2), ALONE);
	assert_int_equal(of(&told, 11), KNOWN);
	assert_int_equal(of(&told, 12), ALONE);
	assert_int_equal(of(&told, 13), MODEL_NO_RUNTIME);
	assert_int_equal(told.threads.v[2].runtime, ALONE);
	assert_int_equal(told.threads.v[2].kind, MODEL_WORKER);
	told_release(&told);
}

/* The stack of a root tells the flavour of a runtime that nothing else tells of, and never that of
 * a whole copy, which may be several. A copy that had no task never ran. */
static void test_learnt(void **state)
{
	static const struct trace_instance some[] = {
		{ 0 }, { CURRENT, 3, 0x10000 }, { ROOT, 0, 0x10320 }, { ROOT, 0, 0x50000 }
	};
	static const struct event evs[] = {
		OWNED(1, 0, 1),	     DONE(1, 0, 1, CURRENT), SPAWN(3, 0, 0x7f00),
		ON_STACK(3, 0, 2),   OWNED(3, 0, 2),	     ROOT_AT(3, 0, 0x7f00),
		END(4, 0, COMPLETE), SPAWN(5, 0, 0x7e00),    ON_STACK(5, 0, 2),
		OWNED(5, 0, 3),	     ROOT_AT(5, 0, 0x7e00),  END(6, 0, COMPLETE),
	};
	struct recording rec;
	struct told told;

	play_into(&rec, &told, some, ARRAY_SIZE(some), evs, ARRAY_SIZE(evs));
	assert_int_equal(rec.nr_runtimes, 3);
	assert_string_equal(rec.runtimes[0].scheduler, "current_thread");
	assert_string_equal(rec.runtimes[1].scheduler, "multi_thread");
	assert_false(rec.runtimes[1].never_ran);
	assert_true(rec.runtimes[2].never_ran);
	assert_true(recording_has_runtimes(&rec));
	assert_int_equal(recording_type_runtime(&rec, OTHER), MODEL_NO_RUNTIME);
	recording_release_runtimes(&rec);
	told_release(&told);
	play_into(&rec, &told, some, 0, evs, ARRAY_SIZE(evs));
	assert_int_equal(rec.nr_runtimes, 2);
	assert_string_equal(rec.runtimes[0].scheduler, "");
	assert_false(recording_has_runtimes(&rec));
	recording_release_runtimes(&rec);
	told_release(&told);
}

/* Who runs tasks of a LocalSet in its block_on is a worker, who only waits is not. */
static void test_set_worker(void **state)
{
	struct told told;

	PLAY_RUNTIMES(&told, 6, ROOT_AT(1, 0, 0x7f00), OWNED(2, 0, 1), DONE(2, 0, 11, SET),
		      END(4, 0, COMPLETE), ROOT_AT(5, 1, 0x7e00), END(6, 1, COMPLETE));
	assert_int_equal(told.threads.v[0].kind, MODEL_WORKER);
	assert_int_equal(told.threads.v[1].kind, MODEL_OTHER);
	told_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_flavours),  cmocka_unit_test(test_local_runtime),
		cmocka_unit_test(test_root_addresses), cmocka_unit_test(test_order),
		cmocka_unit_test(test_tasks),	       cmocka_unit_test(test_threads),
		cmocka_unit_test(test_new_worker),     cmocka_unit_test(test_root_alone),
		cmocka_unit_test(test_only_one),       cmocka_unit_test(test_roots_unplaced),
		cmocka_unit_test(test_learnt),	       cmocka_unit_test(test_roots_alone),
		cmocka_unit_test(test_set_worker),     cmocka_unit_test(test_reused_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
