// SPDX-License-Identifier: MIT OR Apache-2.0
/* Announced objects get their plan, and types get the numbers that the trace file gives them. */
#include "capture/dialogue.h"

#include <string.h>
#include <unistd.h>

#include "fake.h"

struct setup {
	struct lobby lobby;
	struct fake_agent agent;
	struct catalog catalog;
	struct process *p;
	struct discovery d;
	struct found_runtime runtime;
	struct found_table tables[3];
	char *dir;
};

static int begin(void **state)
{
	struct setup *s = xcalloc(1, sizeof(*s));
	struct lobby_opts o = { .ring_bytes = 4096 };
	struct reading_opts reading = { .discover = { .names = true } };
	struct err e = ERR_INIT;

	fake_file_reset();
	fake_nr_discovered = 0;
	assert_int_equal(lobby_open(&s->lobby, &o, &e), 0);
	/* this very process is the target: /proc/PID/exe is then the test itself */
	fake_agent_init(&s->agent, &s->lobby, getpid());
	catalog_init(&s->catalog, &reading);
	fake_discovery_init(&s->d, &s->runtime, s->tables, 3);
	fake_discovery = &s->d;
	s->p = process_new(&s->lobby, s->agent.door, &e);
	s->p->out_path = xstrdup("/dev/null");
	*state = s;
	return 0;
}

static int end(void **state)
{
	struct setup *s = *state;

	process_free(s->p);
	catalog_release(&s->catalog);
	fake_agent_release(&s->agent);
	lobby_close(&s->lobby);
	free(s);
	fake_file_reset();
	return 0;
}

/* The executable is announced by an empty path; its tables come back with base, words and type
 * numbers. */
static void test_executable(void **state)
{
	struct setup *s = *state;
	struct wire_object *o = &s->agent.region->objects[0];

	s->tables[1].plan.kind = WIRE_TABLE_TOKIO_WAKER;
	fake_announce(&s->agent, "", 0x5000000);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 1);
	assert_int_equal(o->state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(o->first_table, 0);
	assert_int_equal(o->nr_tables, 3);
	assert_int_equal(s->agent.region->nr_tables, 3);
	assert_int_equal(s->agent.region->tables[2].va, s->tables[2].plan.va);
	/* a waker table has no type of its own */
	assert_int_equal(fake_file.types.nr, 2);
	assert_int_equal(s->agent.region->tables[0].type, 0);
	assert_int_equal(s->agent.region->tables[1].type, EVENT_TYPE_NONE);
	assert_int_equal(s->agent.region->tables[2].type, 1);
	assert_int_equal(fake_file.objects.v[0].base, 0x5000000);
	assert_string_equal(fake_file.objects.v[0].path, s->p->exe);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 0);
}

/* A second object goes on counting tables, types and runtimes; the same file is looked at once. */
static void test_second_object(void **state)
{
	struct setup *s = *state;

	fake_announce(&s->agent, "", 0x5000000);
	fake_announce(&s->agent, "/proc/self/exe", 0x7000000);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 2);
	assert_int_equal(s->agent.region->objects[1].first_table, 3);
	assert_int_equal(s->agent.region->tables[5].type, 5);
	assert_int_equal(fake_file.types.v[5].runtime, 1);
	assert_int_equal(fake_file.runtimes.v[1].object, 1);
	assert_int_equal(fake_nr_discovered, 1);
}

/* Each object's futures get the numbers of their definitions; tables tell which of them theirs is.
 */
static void test_futures(void **state)
{
	struct setup *s = *state;
	struct found_future futures[2] = {
		{ .plan = { .redirect = { .va = 0x100, .nr_bytes = 5, .kind = WIRE_FUTURE } },
		  .name = "app::pay::{async block#0}",
		  .file = "",
		  .is_generated = true },
		{ .plan = { .redirect = { .va = 0x200, .kind = WIRE_FUTURE } },
		  .name = "app::Timer",
		  .file = "" },
	};
	struct wire_region *r = s->agent.region;
	struct process_sum sum;

	s->d.futures = (struct found_futures){ .v = futures, .nr = 2, .nr_refused = 3, .note = "" };
	s->tables[2].plan.kind = WIRE_TABLE_FUTURE;
	s->tables[2].plan.id_off = 1;
	fake_announce(&s->agent, "", 0x5000000);
	fake_announce(&s->agent, "/proc/self/exe", 0x7000000);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 2);
	assert_int_equal(r->objects[1].first_future, 2);
	assert_int_equal(r->objects[1].nr_futures, 2);
	assert_int_equal(r->futures[3].redirect.va, 0x200);
	assert_int_equal(r->futures[3].redirect.flag_off, 3);
	assert_int_equal(r->tables[2].id_off, 1);
	assert_int_equal(r->tables[5].id_off, 3);
	assert_int_equal(fake_file.futures.nr, 4);
	assert_int_equal(fake_file.futures.v[2].object, 1);
	r->objects[0].nr_futures_redirected = 1;
	process_sum(s->p, &sum);
	assert_int_equal(sum.nr_futures, 3); /* a function, and a table in each */
	assert_int_equal(sum.nr_futures_refused, 7);
	r->objects[0].nr_futures_redirected = 99; /* nobody believes that */
	process_sum(s->p, &sum);
	assert_int_equal(sum.nr_futures, 3);
}

/* No runtime inside: answered, with no table, and no file is begun for it. */
static void test_no_runtime(void **state)
{
	struct setup *s = *state;

	s->d.nr_runtimes = s->d.nr_tables = 0;
	fake_announce(&s->agent, "", 0);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 1);
	assert_int_equal(s->agent.region->objects[0].state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(s->agent.region->objects[0].nr_tables, 0);
	assert_int_equal(fake_file.nr_writers, 0);
}

/* What cannot be looked at, or is another file by now, is answered too: nobody waits for ever. */
static void test_unreadable(void **state)
{
	struct setup *s = *state;
	struct wire_object *objects = s->agent.region->objects;

	fake_announce(&s->agent, "/nonexistent/libx.so", 0);
	fake_announce(&s->agent, "", 0);
	objects[1].build_id_len = 2;
	memcpy(objects[1].build_id, "\xab\xcd", 2);
	s->d.build_id = "abce";
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 2);
	assert_int_equal(objects[0].state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(objects[1].state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(objects[0].nr_tables + objects[1].nr_tables, 0);
	s->d.build_id = "abcd";
	fake_announce(&s->agent, "", 0);
	memcpy(objects[2].build_id, "\xab\xcd", 2);
	objects[2].build_id_len = 2;
	dialogue_answer(s->p, &s->catalog);
	assert_int_equal(objects[2].nr_tables, 3);
}

/* Counts from the target are not trusted: more objects than there are, a path without an end. */
static void test_hostile(void **state)
{
	struct setup *s = *state;
	struct wire_region *r = s->agent.region;

	memset(r->objects[0].path, '/', sizeof(r->objects[0].path));
	r->objects[0].build_id_len = UINT32_MAX;
	r->objects[0].state = WIRE_OBJECT_ANNOUNCED;
	r->objects[1].state = 77;
	r->nr_objects = UINT32_MAX;
	r->nr_tables = UINT32_MAX;
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 1);
	assert_int_equal(r->objects[0].state, WIRE_OBJECT_ANSWERED);
	r->objects[2].state = WIRE_OBJECT_ANNOUNCED;
	dialogue_answer(s->p, &s->catalog);
	assert_int_equal(r->objects[2].first_table, 0);
	assert_int_equal(r->nr_tables, 3);
}

/* After the recording was stopped nothing is hooked any more. */
static void test_stopped(void **state)
{
	struct setup *s = *state;

	process_stop(s->p);
	fake_announce(&s->agent, "", 0);
	assert_int_equal(dialogue_answer(s->p, &s->catalog), 1);
	assert_int_equal(s->agent.region->objects[0].state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(s->agent.region->objects[0].nr_tables, 0);
}

/* More tables than the plan has room for: the first of them, and no step beyond. */
static void test_too_many_tables(void **state)
{
	struct setup *s = *state;
	struct found_table *many = xcalloc(WIRE_MAX_TABLES, sizeof(*many));

	for (uint32_t i = 0; i < WIRE_MAX_TABLES; i++)
		many[i] = s->tables[0];
	s->d.tables = many;
	s->d.nr_tables = WIRE_MAX_TABLES - 1;
	fake_announce(&s->agent, "", 0);
	fake_announce(&s->agent, "", 1);
	dialogue_answer(s->p, &s->catalog);
	assert_int_equal(s->agent.region->objects[0].nr_tables, WIRE_MAX_TABLES - 1);
	assert_int_equal(s->agent.region->objects[1].nr_tables, 1);
	assert_int_equal(s->agent.region->nr_tables, WIRE_MAX_TABLES);
	free(many);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_executable), TEST(test_second_object),   TEST(test_no_runtime),
		TEST(test_futures),    TEST(test_unreadable),	   TEST(test_hostile),
		TEST(test_stopped),    TEST(test_too_many_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
