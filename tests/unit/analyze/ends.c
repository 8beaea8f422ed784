// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves what the analyses of ends and beginnings find, and what they let pass: lost-panic,
 * cancel-storm, never-polled, large-future.
 */
#include "found.h"

#define PANICKED (COMPLETE | EF_END_PANICKED)

/* Two panics that nobody would learn of, the third had somebody who waited. */
static void test_lost_panic(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;

	for (uint64_t id = 1; id <= 3; id++) {
		ADD(&s, POLL(100 * id, 0, id));
		ADD(&s, END(100 * id + 10, 0, id == 3 ? PANICKED | EF_END_WANTED : PANICKED));
	}
	find_all(&found, &s, script_types, 1000, "");
	f = found_one(&found, "lost-panic");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(f->task.id, 1);
	assert_int_equal(f->time_ns, 110);
	assert_int_equal(f->harm_ns, 20);
	assert_int_equal(figure_of(f, "lost_panics"), 2);
	assert_int_equal(figure_of(f, "panics"), 3);
	assert_string_equal(f->what,
			    "the JoinHandles of 2 of 3 tasks that panicked were dropped unread");
	found_release(&found);
}

/* The handle goes while the task runs, right behind it, long after it, or never. */
static void test_lost_panic_let_go(void **state)
{
	enum { LONG = 1000000000 };
	struct script s = { 0 };
	const struct finding *f;
	struct found found;

	for (uint64_t id = 1; id <= 4; id++) {
		ADD(&s, POLL(100 * id, 0, id));
		if (id == 1)
			ADD(&s, DETACH(100 * id + 5, 1, id));
		ADD(&s, END(100 * id + 10, 0, PANICKED | EF_END_WANTED));
		if (id == 2)
			ADD(&s, DETACH(100 * id + 20, 1, id));
	}
	ADD(&s, DETACH(LONG, 1, 3));
	ADD(&s, DETACH(LONG, 1, 5)); /* of a task that is not known */
	find_all(&found, &s, script_types, LONG + 1000, "");
	f = found_one(&found, "lost-panic");
	assert_int_equal(f->task.id, 1);
	assert_int_equal(f->time_ns, 110);
	assert_int_equal(f->harm_ns, 30);
	assert_int_equal(figure_of(f, "lost_panics"), 3);
	found_release(&found);
}

static void add_panics(struct script *s, unsigned nr, uint8_t flags)
{
	for (uint64_t id = 1; id <= nr; id++) {
		ADD(s, POLL(100 * id, 0, id));
		ADD(s, END(100 * id + 10, 0, flags));
	}
}

static void test_lost_panic_miss(void **state)
{
	struct script s = { 0 };

	add_panics(&s, 3, PANICKED | EF_END_WANTED);
	assert_int_equal(count_found(&s, 1000, "lost-panic", ""), 0);
	/* nobody wants it, and it did not panic */
	add_panics(&s, 3, COMPLETE);
	assert_int_equal(count_found(&s, 1000, "lost-panic", ""), 0);
	add_panics(&s, 3, PANICKED);
	assert_int_equal(count_found(&s, 1000, "lost-panic", "lost-panic=4"), 0);
	add_panics(&s, 3, PANICKED);
	assert_int_equal(count_found(&s, 1000, "lost-panic", "lost-panic=3"), 1);
}

/* A task every `gap_ns`, polled for `busy_ns` and then cancelled or complete. */
static void add_tasks(struct script *s, unsigned nr, unsigned nr_cancelled, uint64_t gap_ns,
		      uint64_t busy_ns)
{
	for (uint64_t id = 1; id <= nr; id++) {
		uint64_t time = id * gap_ns;

		ADD(s, POLL(time, 0, id));
		ADD(s, END(time + busy_ns, 0, id > nr_cancelled ? COMPLETE : 0));
		if (id > nr_cancelled)
			continue;
		ADD(s, WAKE(time + busy_ns + 10, 1, id, EF_WAKE_ABORT));
		ADD(s, START(time + busy_ns + 20, 0, id, ASYNC, EF_RUN_DROP));
		ADD(s, END(time + busy_ns + 30, 0, CANCELLED));
	}
}

static void test_cancel_storm(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;

	add_tasks(&s, 200, 100, 2 * MS, 1 * MS);
	find_all(&found, &s, script_types, 500 * MS, "");
	f = found_one(&found, "cancel-storm");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(figure_of(f, "cancelled"), 100);
	assert_int_equal(figure_of(f, "ended"), 200);
	assert_int_equal(figure_of(f, "share_percent"), 50);
	assert_int_equal(figure_of(f, "wasted_ns"), 100 * (1 * MS + 10));
	assert_int_equal(f->harm_ns, 100 * (1 * MS + 10));
	assert_int_equal(f->time_ns, 3 * MS + 30);
	assert_int_equal(f->span_ns, 99 * 2 * MS);
	found_release(&found);
}

static void test_cancel_storm_miss(void **state)
{
	struct script s = { 0 };

	add_tasks(&s, 199, 99, 2 * MS, 10 * US); /* too few */
	assert_int_equal(count_found(&s, 500 * MS, "cancel-storm", ""), 0);
	add_tasks(&s, 199, 99, 2 * MS, 10 * US);
	assert_int_equal(
		count_found(&s, 500 * MS, "cancel-storm", "cancel-storm=99 cancel-storm-share=49%"),
		1);
	add_tasks(&s, 300, 149, 2 * MS, 10 * US); /* not half of them */
	assert_int_equal(count_found(&s, 700 * MS, "cancel-storm", ""), 0);
	add_tasks(&s, 300, 300, 100 * US, 10 * US); /* all at one moment */
	assert_int_equal(count_found(&s, 500 * MS, "cancel-storm", ""), 0);
	add_tasks(&s, 330, 300, 100 * US, 10 * US);
	assert_int_equal(count_found(&s, 500 * MS, "cancel-storm", "cancel-storm-span=29ms"), 1);
	for (uint64_t id = 1; id <= 300; id++) { /* they go with their runtime */
		ADD(&s, SHUTDOWN(id * MS, 0, id));
		ADD(&s, END(id * MS + 10, 0, CANCELLED));
	}
	assert_int_equal(count_found(&s, 500 * MS, "cancel-storm", ""), 0);
}

/* Cancelling that costs nothing is worth a look, no more; and not even that if the tasks never end
 * in another way: that is how it is meant. */
static void test_cancel_storm_note(void **state)
{
	static const struct {
		unsigned nr_complete;
		size_t nr_found;
	} cases[] = { { 11, 1 }, { 10, 0 }, { 0, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct script s = { 0 };
		struct found found;

		add_tasks(&s, 200 + cases[i].nr_complete, 200, 2 * MS, 1 * US);
		ADD(&s, START(450 * MS, 0, 1000, LOCAL, 0));
		ADD(&s, END(490 * MS, 0, COMPLETE));
		find_all(&found, &s, script_types, 500 * MS, "");
		assert_int_equal(found_count(&found, "cancel-storm"), cases[i].nr_found);
		if (cases[i].nr_found)
			assert_int_equal(found_one(&found, "cancel-storm")->severity,
					 SEVERITY_NOTE);
		found_release(&found);
	}
}

/* Spawned at time 0 or 10 ms, and what comes of it. */
static void add_spawned(struct script *s, uint64_t end_ns, uint8_t run_flags, uint8_t end_flags)
{
	ADD(s, SPAWN(0, 3, 0x1000));
	ADD(s, SPAWN(10 * MS, 3, 0x2000));
	for (uint64_t id = 1; id <= 2; id++) {
		ADD(s, START(end_ns + 10 * id, 0, id, ASYNC, run_flags));
		ADD(s, END(end_ns + 10 * id + 5, 0, end_flags));
	}
}

static void test_never_polled(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;

	add_spawned(&s, 200 * MS, EF_RUN_SHUTDOWN, CANCELLED);
	find_all(&found, &s, script_types, 300 * MS, "");
	f = found_one(&found, "never-polled");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(f->task.id, 1);
	assert_int_equal(f->thread, 3);
	assert_int_equal(f->time_ns, 0);
	assert_int_equal(f->span_ns, 200 * MS + 10);
	assert_int_equal(figure_of(f, "never_polled"), 2);
	assert_int_equal(figure_of(f, "waited_ns"), 390 * MS + 30);
	assert_string_equal(f->what,
			    "2 tasks were spawned and dropped without a poll, after up to 200ms");
	found_release(&found);
}

static void test_never_polled_miss(void **state)
{
	struct script s = { 0 };

	add_spawned(&s, 50 * MS, EF_RUN_SHUTDOWN, CANCELLED); /* just before the end */
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
	add_spawned(&s, 50 * MS, EF_RUN_SHUTDOWN, CANCELLED);
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", "never-polled=45ms"), 1);
	add_spawned(&s, 200 * MS, EF_RUN_DROP, CANCELLED); /* aborted first */
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
	add_spawned(&s, 200 * MS, 0, COMPLETE); /* late, but polled */
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
	add_spawned(&s, 200 * MS, 0, 0); /* polled and then dropped */
	ADD(&s, SHUTDOWN(250 * MS, 0, 1));
	ADD(&s, END(251 * MS, 0, CANCELLED));
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
	/* it was there before, and how it began is not known */
	ADD(&s, WAKE(0, 0, 1, 0));
	ADD(&s, SHUTDOWN(250 * MS, 0, 1));
	ADD(&s, END(251 * MS, 0, CANCELLED));
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
}

/* A poll of it may be among what was lost. */
static void test_never_polled_lost(void **state)
{
	struct script s = { 0 };

	ADD(&s, SPAWN(0, 3, 0x1000));
	ADD(&s, LOST(10 * MS, 0, RUN_START, 1));
	ADD(&s, SHUTDOWN(250 * MS, 0, 1));
	ADD(&s, END(251 * MS, 0, CANCELLED));
	assert_int_equal(count_found(&s, 300 * MS, "never-polled", ""), 0);
}

/* The types of scripts, with sizes. */
static void find_large(struct found *found, uint64_t async_bytes, uint64_t blocking_bytes,
		       const char *limits)
{
	static struct trace_type types[NR_TYPES];
	struct script s = { 0 };

	memcpy(types, script_types, sizeof(types));
	types[OTHER_COPY].size_bytes = async_bytes; /* told of one of its two tables only */
	types[BLOCKING].size_bytes = blocking_bytes;
	types[LOCAL].size_bytes = 1 << 20; /* no task of it runs */
	for (uint64_t id = 1; id <= 4; id++) {
		ADD(&s, POLL(100 * id, 0, id));
		ADD(&s, END(100 * id + 10, 0, id == 1 ? COMPLETE : 0));
	}
	ADD(&s, START(600, 0, 5, BLOCKING, 0));
	ADD(&s, END(610, 0, COMPLETE));
	find_all(found, &s, types, 1000, limits);
}

static void test_large_future(void **state)
{
	const struct finding *f;
	struct found found;

	find_large(&found, 16384, 0, "");
	f = found_one(&found, "large-future");
	assert_int_equal(f->severity, SEVERITY_NOTE);
	assert_int_equal(f->type, ASYNC);
	assert_false(f->has_task);
	assert_int_equal(figure_of(f, "size_bytes"), 16384);
	assert_int_equal(figure_of(f, "tasks"), 4);
	assert_int_equal(figure_of(f, "peak_bytes"), 3 * 16384);
	found_release(&found);
	find_large(&found, 16384, 0, "large-future-total=48K");
	assert_int_equal(found_one(&found, "large-future")->severity, SEVERITY_WARNING);
	found_release(&found);
}

static void test_large_future_miss(void **state)
{
	struct found found;

	find_large(&found, 16383, 0, "");
	assert_int_equal(found_count(&found, "large-future"), 0);
	found_release(&found);
	/* a closure is moved once, into its task; no size is known of the others */
	find_large(&found, 0, 100000, "large-future=1");
	assert_int_equal(found_count(&found, "large-future"), 0);
	found_release(&found);
	find_large(&found, 1024, 0, "large-future=1K");
	assert_int_equal(found_count(&found, "large-future"), 1);
	found_release(&found);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_panic),	  cmocka_unit_test(test_lost_panic_miss),
		cmocka_unit_test(test_lost_panic_let_go), cmocka_unit_test(test_cancel_storm),
		cmocka_unit_test(test_cancel_storm_miss), cmocka_unit_test(test_cancel_storm_note),
		cmocka_unit_test(test_never_polled),	  cmocka_unit_test(test_never_polled_miss),
		cmocka_unit_test(test_never_polled_lost), cmocka_unit_test(test_large_future),
		cmocka_unit_test(test_large_future_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
