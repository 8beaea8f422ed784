// SPDX-License-Identifier: MIT OR Apache-2.0
/* A traced process: threads come and go, slots are used again, nothing that was lost is forgotten.
 */
#include "capture/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/pace.h"
#include "fake.h"

struct setup {
	struct lobby lobby;
	struct fake_agent agent;
	struct process *p;
	char path[64];
};

static int begin(void **state)
{
	struct setup *s = xcalloc(1, sizeof(*s));
	struct lobby_opts o = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;
	int fd;

	fake_file_reset();
	strcpy(s->path, "/tmp/test-capture-XXXXXX");
	fd = mkstemp(s->path);
	assert_true(fd >= 0);
	close(fd);
	unlink(s->path);
	assert_int_equal(lobby_open(&s->lobby, &o, &e), 0);
	fake_agent_init(&s->agent, &s->lobby, getpid());
	s->p = process_new(&s->lobby, s->agent.door, &e);
	assert_non_null(s->p);
	s->p->out_path = xstrdup(s->path);
	*state = s;
	return 0;
}

static int end(void **state)
{
	struct setup *s = *state;

	process_free(s->p);
	fake_agent_release(&s->agent);
	lobby_close(&s->lobby);
	unlink(s->path);
	free(s);
	fake_file_reset();
	return 0;
}

static void put_runs(struct setup *s, struct wire_thread *t, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		struct event ev = { .kind = EV_RUN_START, .task = i + 1, .time = i };

		fake_put(&s->agent, t, &ev);
	}
}

/* Threads are found, each has a stream, and events keep their thread. */
static void test_threads(void **state)
{
	struct setup *s = *state;
	struct process_sum sum;

	put_runs(s, fake_thread(&s->agent, 0, 11), 3);
	put_runs(s, fake_thread(&s->agent, WIRE_MAX_THREADS - 1, 12), 5);
	process_drain(s->p, false);
	assert_int_equal(fake_file.events.nr, 0);
	process_drain(s->p, true);
	assert_int_equal(fake_file.nr_threads, 2);
	assert_int_equal(fake_file.events.nr, 8);
	assert_int_equal(fake_file.events.v[0].tid, 11);
	assert_int_equal(fake_file.events.v[7].tid, 12);
	process_sum(s->p, &sum);
	assert_int_equal(sum.nr_events, 8);
	assert_int_equal(sum.nr_task_events, 8);
}

/* What is counted is what the file holds: the name of a thread and the mark of a broken stretch
 * too.
 */
static void test_count_is_that_of_the_file(void **state)
{
	struct setup *s = *state;
	struct wire_thread *t = fake_thread(&s->agent, 0, getpid());
	struct process_sum sum;

	put_runs(s, t, 3);
	process_drain(s->p, true);
	assert_int_equal(fake_file.events.nr, 4);
	process_sum(s->p, &sum);
	assert_int_equal(sum.nr_events, 4);
	assert_int_equal(sum.nr_task_events, 3);
	t->head += s->lobby.ring_words + 1;
	process_drain(s->p, true);
	process_sum(s->p, &sum);
	assert_int_equal(sum.nr_broken, 1);
	assert_int_equal(fake_file.events.nr, 5);
	assert_int_equal(sum.nr_events, 5);
}

/* The kernel is asked about threads that did something since, and about no others. */
static void test_counts_of_threads(void **state)
{
	struct setup *s = *state;
	struct wire_thread *t = fake_thread(&s->agent, 0, getpid());

	put_runs(s, t, 3);
	put_runs(s, fake_thread(&s->agent, 1, UINT32_MAX), 3); /* there is no such thread */
	process_drain(s->p, true);
	for (int i = 0; i < 3; i++) {
		process_flush(s->p, false);
		assert_int_equal(fake_file.nr_counts, 1);
	}
	put_runs(s, t, 3);
	process_drain(s->p, false);
	process_flush(s->p, false);
	assert_int_equal(fake_file.nr_counts, 2);
}

/* A dead thread's slot is drained first, then free for the next; its losses stay in the sum. */
static void test_recycling(void **state)
{
	struct setup *s = *state;
	struct trace_end te = { .kind = TRACE_EXITED };

	for (unsigned life = 0; life < 101; life++) {
		struct wire_thread *t = fake_thread(&s->agent, 5, 1000 + life);

		put_runs(s, t, 7);
		t->lost[EV_WAKE] = 3;
		if (life % 2)
			process_drain(s->p, true);
		fake_thread_ends(t);
		process_drain(s->p, true);
		assert_int_equal(t->key, 0);
		assert_int_equal(t->state, WIRE_THREAD_FREE);
		assert_int_equal(t->life, life + 1);
		assert_int_equal(s->agent.region->slots_used[0], 0);
	}
	assert_int_equal(fake_file.nr_threads, 101);
	assert_int_equal(fake_file.nr_open_streams, 0);
	assert_int_equal(fake_file.events.nr, 7 * 101);
	process_end(s->p, &te);
	assert_int_equal(fake_file.end.lost[EV_WAKE], 3 * 101);
}

/* A program whose threads live shortly is drained soon again, or it would run out of slots. */
static void test_short_lives(void **state)
{
	struct setup *s = *state;

	for (unsigned slot = 0; slot < WIRE_MAX_THREADS / 8; slot++)
		fake_thread_ends(fake_thread(&s->agent, slot, 1000 + slot));
	assert_true(process_drain(s->p, true) > PACE_WORDS);
	assert_int_equal(process_drain(s->p, true), 0);
}

/* A thread says that it is dead in two steps; between them the slot is still its own. */
static void test_half_dead(void **state)
{
	struct setup *s = *state;
	struct wire_thread *t = fake_thread(&s->agent, 5, 1);

	t->state = WIRE_THREAD_DEAD;
	process_drain(s->p, true);
	assert_int_not_equal(t->key, 0);
	t->key = WIRE_KEY_DEAD;
	process_drain(s->p, false);
	assert_int_equal(t->key, 0);
}

/* The end counts what was recorded, what was lost in live threads and dead ones, and what made no
 * sense. */
static void test_end(void **state)
{
	struct setup *s = *state;
	struct trace_end te = { .kind = TRACE_SIGNALED, .status = 9 };
	struct wire_thread *a = fake_thread(&s->agent, 1, 1), *b = fake_thread(&s->agent, 2, 2);
	uint64_t bad = EVENT_WORD0(30, 0, 0), put = 0;
	struct event ev = { .kind = EV_WAKE, .task = 1 };

	process_drain(s->p, true);
	for (unsigned i = 0; i < 1009; i++)
		put += fake_put(&s->agent, a, &ev);
	assert_int_equal(put + a->lost[EV_WAKE], 1009);
	assert_true(a->lost[EV_WAKE] > 0);
	fake_words(&s->agent, b, &bad, 1);
	fake_thread_ends(b);
	s->agent.region->nr_unslotted = 2;
	s->agent.region->nr_forked = 3;
	process_drain(s->p, true);
	process_end(s->p, &te);
	assert_true(fake_file.has_end);
	assert_int_equal(fake_file.events.nr, put + 1);
	assert_int_equal(fake_file.end.lost[EV_WAKE], 1009 - put);
	assert_int_equal(fake_file.end.lost[0], 1);
	assert_int_equal(fake_file.end.nr_unslotted, 2);
	assert_int_equal(fake_file.end.nr_unfollowed, 3);
	assert_int_equal(fake_file.end.status, 9);
	assert_int_equal(s->agent.region->state, WIRE_REGION_STOP);
	/* nothing more goes anywhere */
	put_runs(s, a, 1);
	process_drain(s->p, true);
	assert_int_equal(fake_file.events.nr, put + 1);
	assert_int_equal(fake_file.nr_writers, 1);
}

/* Taken back where it was not counted: no child is missing then, and not four billion. */
static void test_taken_back_twice(void **state)
{
	struct setup *s = *state;
	struct trace_end te = { .kind = TRACE_GONE };

	s->agent.region->nr_forked = -2;
	process_end(s->p, &te);
	assert_true(fake_file.has_end);
	assert_int_equal(fake_file.end.kind, TRACE_GONE);
	assert_int_equal(fake_file.end.nr_unfollowed, 0);
}

/* A large ring is given back when its thread has ended, also by one that has not written there. */
static void test_gives_back_rings(void **state)
{
	struct setup *s = *state;
	struct wire_region *r = s->agent.region;
	struct wire_thread *writes = fake_thread(&s->agent, 1, 1), *idle;

	idle = fake_thread(&s->agent, 2, 2);
	put_runs(s, idle, 1);
	while (!writes->big)
		put_runs(s, writes, 1);
	idle->ring_from = idle->segment_end;
	idle->big = 8;
	r->big_used = UINT64_C(1) << (writes->big - 1) | UINT64_C(1) << 7 | 1;
	process_drain(s->p, true);
	fake_thread_ends(writes);
	fake_thread_ends(idle);
	process_drain(s->p, true);
	assert_int_equal(writes->key, 0);
	assert_int_equal(idle->key, 0);
	assert_int_equal(r->big_used, 1);
}

/* What had nothing to tell can be forgotten, and the file given on to the next. */
static void test_discard(void **state)
{
	struct setup *s = *state;
	struct stat st;

	assert_int_equal(process_begin_file(s->p), 0);
	assert_int_equal(stat(s->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 5);
	fake_thread(&s->agent, 1, 1);
	process_drain(s->p, true);
	assert_int_equal(process_discard(s->p), 0);
	assert_false(fake_file.has_end);
	assert_int_equal(stat(s->path, &st), 0);
	assert_int_equal(st.st_size, strlen("cut"));
	assert_true(s->p->out.fd >= 0);
	assert_int_equal(fake_file.nr_open_streams, 0);
}

/* A file that cannot be created stops the recording of the process, with the reason. */
static void test_no_file(void **state)
{
	struct setup *s = *state;

	free(s->p->out_path);
	s->p->out_path = xstrdup("/nonexistent/file");
	put_runs(s, fake_thread(&s->agent, 1, 1), 3);
	process_drain(s->p, true);
	assert_int_equal(s->p->error.tag, ERR_SYS);
	assert_int_equal(s->agent.region->state, WIRE_REGION_STOP);
	assert_int_equal(fake_file.nr_writers, 0);
}

/* A disk that fills up is noticed at the next flush, and named. */
static void test_full_disk(void **state)
{
	struct setup *s = *state;

	put_runs(s, fake_thread(&s->agent, 1, 1), 3);
	process_drain(s->p, true);
	process_flush(s->p, true);
	assert_int_equal(s->p->error.tag, ERR_NONE);
	err_set(&fake_file.error, ERR_SYS, "no space");
	process_flush(s->p, false);
	assert_int_equal(s->p->error.tag, ERR_SYS);
	assert_non_null(strstr(s->p->error.msg, s->path));
	assert_int_equal(s->agent.region->state, WIRE_REGION_STOP);
}

/* How the clocks stood at a flush is written by the next one: all rings were read in between. */
static void test_marks(void **state)
{
	struct setup *s = *state;
	unsigned before;

	put_runs(s, fake_thread(&s->agent, 1, 1), 3);
	process_drain(s->p, true);
	before = fake_file.nr_anchors;
	process_flush(s->p, true);
	assert_int_equal(fake_file.nr_anchors, before);
	process_flush(s->p, false);
	assert_int_equal(fake_file.nr_anchors, before + 1);
	process_flush(s->p, false);
	assert_int_equal(fake_file.nr_anchors, before + 1);
}

/* A process that never came in leaves a file that says so. */
static void test_absent(void **state)
{
	struct setup *s = *state;
	char *const argv[] = { "cmd", "arg", NULL };
	struct trace_end te = { .kind = TRACE_EXITED };
	struct process *p = process_new_absent(&s->lobby, 77, "/bin/cmd", argv);

	p->out_path = xstrdup(s->path);
	process_end(p, &te);
	assert_true(fake_file.has_end);
	assert_int_equal(fake_file.events.nr, 0);
	process_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_threads),
		TEST(test_count_is_that_of_the_file),
		TEST(test_counts_of_threads),
		TEST(test_recycling),
		TEST(test_short_lives),
		TEST(test_half_dead),
		TEST(test_end),
		TEST(test_gives_back_rings),
		TEST(test_discard),
		TEST(test_no_file),
		TEST(test_full_disk),
		TEST(test_marks),
		TEST(test_absent),
		TEST(test_taken_back_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
