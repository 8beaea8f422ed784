// SPDX-License-Identifier: MIT OR Apache-2.0
/* The shared memory: sizes, limits, doors that are used again. */
#include "capture/lobby.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/core.h"
#include "fake.h"

/* What an agent checks before it believes in the lobby. */
static void assert_good(const struct lobby *l)
{
	const struct wire_lobby *p = l->page;

	assert_int_equal(p->magic, WIRE_MAGIC);
	assert_int_equal(p->version, WIRE_VERSION);
	assert_int_equal(p->layout, WIRE_LAYOUT);
	assert_int_equal(p->tool_pid, getpid());
	assert_int_equal(p->ring_words & (p->ring_words - 1), 0);
	assert_int_equal(p->region_size, wire_region_size(p));
	assert_true(p->small_words <= p->ring_words && p->nr_big >= 1);
	assert_true(p->nr_doors >= 1 && p->nr_doors <= WIRE_MAX_DOORS);
	assert_true(p->heartbeat > p->silent_beat);
	assert_false(core_is_tool_gone(p));
}

/* Ring sizes are rounded up to powers of two, within bounds, and nothing of it costs memory. */
static void test_sizes(void **state)
{
	static const uint64_t cases[][2] = { { 0, LOBBY_RING_DEFAULT },
					     { 1, 4096 },
					     { 4096, 4096 },
					     { 4097, 8192 },
					     { 3 << 20, 4 << 20 },
					     { UINT64_MAX, LOBBY_RING_MAX } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lobby_opts o = { .ring_bytes = cases[i][0] };
		struct err e = ERR_INIT;
		struct lobby l;
		struct stat st;

		assert_int_equal(lobby_open(&l, &o, &e), 0);
		assert_good(&l);
		assert_int_equal(l.ring_words * 8, cases[i][1]);
		assert_int_equal(fstat(l.fd, &st), 0);
		assert_int_equal(st.st_size, WIRE_PAGE + l.page->nr_doors * l.page->region_size);
		assert_true(st.st_blocks * 512 <= 1 << 20);
		assert_int_equal(ftruncate(l.fd, 0), -1); /* sealed */
		lobby_close(&l);
	}
}

/* Under limits on file size or address space it gets smaller instead of failing. */
static void test_limits(void **state)
{
	static const int which[] = {
		RLIMIT_FSIZE,
#ifndef __SANITIZE_ADDRESS__ /* which needs terabytes of address space itself */
		RLIMIT_AS,
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct rlimit rl = { UINT64_C(4) << 30, UINT64_C(4) << 30 };
			struct lobby_opts o = { 0 };
			struct err e = ERR_INIT;
			struct lobby l;

			signal(SIGXFSZ, SIG_IGN);
			setrlimit(which[i], &rl);
			if (lobby_open(&l, &o, &e))
				_exit(1);
			_exit(l.page->region_size < rl.rlim_cur && l.ring_words >= 512 ? 0 : 2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* A door that is recycled gives its memory back and is as new. */
static void test_recycled_door(void **state)
{
	struct lobby_opts o = { .ring_bytes = 1 << 20 };
	struct err e = ERR_INIT;
	struct fake_agent a;
	struct wire_thread *t;
	struct event ev = { .kind = EV_SLEEP };
	struct lobby l;
	struct stat st;

	assert_int_equal(lobby_open(&l, &o, &e), 0);
	fake_agent_init(&a, &l, 5);
	t = fake_thread(&a, 9, 5);
	while (fake_put(&a, t, &ev))
		;
	assert_int_equal(fstat(l.fd, &st), 0);
	assert_true(st.st_blocks * 512 > 1 << 20);
	a.region->nr_places = 7;
	l.page->places.used = 9 * WIRE_PAGE;
	lobby_recycle_door(&l, a.door);
	assert_int_equal(fstat(l.fd, &st), 0);
	assert_true(st.st_blocks * 512 <= 64 << 10);
	assert_int_equal(l.page->places.used, 2 * WIRE_PAGE);
	assert_int_equal(l.page->doors[a.door].state, WIRE_DOOR_FREE);
	assert_int_equal(l.page->doors[a.door].pid, 0);
	assert_int_equal(t->state, WIRE_THREAD_FREE);
	assert_int_equal(a.region->state, WIRE_REGION_NONE);
	fake_agent_release(&a);
	lobby_close(&l);
}

/* Little memory: rings get smaller, all together may take three quarters of it, and it only gets
 * less. */
static void test_little_memory(void **state)
{
	static const uint64_t cases[][3] = {
		/* memory, large ring, small ring */
		{ UINT64_C(1) << 40, LOBBY_RING_DEFAULT, 64 << 10 },
		{ 16 << 20, 4 << 20, 8 << 10 },
		{ LOBBY_MEMORY_MIN, 64 << 10, 4 << 10 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lobby_opts o = { .memory_bytes = cases[i][0] };
		struct wire_thread t = { .touched = { 7, 5 } };
		struct err e = ERR_INIT;
		struct lobby l;

		assert_int_equal(lobby_open(&l, &o, &e), 0);
		assert_good(&l);
		assert_int_equal(l.page->ring_words * 8, cases[i][1]);
		assert_int_equal(l.page->small_words * 8, cases[i][2]);
		assert_int_equal(l.page->rings.limit + l.page->places.limit, cases[i][0]);
		assert_int_equal(l.page->rings.limit, cases[i][0] / 4 * 3);
		l.page->rings.used = l.page->rings.limit / 2 + 1;
		lobby_check_memory(&l);
		assert_true(l.is_tight);
		l.page->rings.used = cases[i][1];
		lobby_credit(&l, &t, true, 4);
		assert_int_equal(l.page->rings.used, cases[i][1] - MAX(cases[i][1] / 64, 512));
		assert_int_equal(t.touched[1], 1);
		lobby_credit(&l, &t, true, 4);
		assert_int_equal(l.page->rings.used, cases[i][1] - MAX(cases[i][1] / 64, 512));
		lobby_limit_memory(&l, UINT64_C(1) << 41);
		assert_int_equal(l.page->rings.limit, cases[i][0] / 4 * 3);
		lobby_limit_memory(&l, 0);
		assert_int_equal(l.page->rings.limit, LOBBY_MEMORY_MIN / 4 * 3);
		lobby_close(&l);
	}
}

/* The doorbell: a bell that rang already is no reason to sleep. */
static void test_doorbell(void **state)
{
	struct lobby_opts o = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;
	struct lobby l;
	uint64_t before;

	assert_int_equal(lobby_open(&l, &o, &e), 0);
	before = clock_mono_ns();
	lobby_wait(&l, l.page->doorbell + 1, UINT64_C(60000000000));
	assert_true(clock_mono_ns() - before < UINT64_C(30000000000));
	lobby_wait(&l, l.page->doorbell, 2000000);
	assert_true(clock_mono_ns() - before >= 2000000);
	lobby_close(&l);
}

/* Maps the lobby as an agent does. */
static const struct wire_lobby *map_as_agent(const struct lobby *l)
{
	const struct wire_lobby *theirs = mmap(NULL, WIRE_PAGE, PROT_READ, MAP_SHARED, l->fd, 0);

	assert_true(theirs != MAP_FAILED);
	return theirs;
}

/* Whoever has mapped it finds a tool that lives while it is open, and none as soon as it is closed.
 */
static void test_closed(void **state)
{
	struct lobby_opts o = { .ring_bytes = 4096 };
	const struct wire_lobby *theirs;
	struct err e = ERR_INIT;
	struct lobby l;

	assert_int_equal(lobby_open(&l, &o, &e), 0);
	theirs = map_as_agent(&l);
	assert_false(core_is_tool_gone(theirs));
	lobby_close(&l);
	assert_true(core_is_tool_gone(theirs));
	munmap((void *)theirs, WIRE_PAGE);
}

/* A tool that is killed is gone without a word of its own; one that is stopped is not. */
static void test_killed(void **state)
{
	int fd = memfd_create("fd", 0), status;
	const struct wire_lobby *theirs;
	uint64_t beat;
	pid_t pid;

	assert_int_equal(ftruncate(fd, WIRE_PAGE), 0);
	pid = fork();
	if (pid == 0) {
		struct pulse *p =
			pulse_new(mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));

		for (;;)
			if (!p)
				_exit(1);
	}
	theirs = map_as_agent(&(struct lobby){ .fd = fd });
	while (!__atomic_load_n(&theirs->heartbeat, __ATOMIC_RELAXED))
		usleep(1000);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	beat = theirs->heartbeat;
	usleep(3 * WIRE_BEAT_NS / 1000);
	assert_int_equal(theirs->heartbeat, beat);
	assert_false(core_is_tool_gone(theirs));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(core_is_tool_gone(theirs));
	munmap((void *)theirs, WIRE_PAGE);
	close(fd);
}

/* The heartbeat is that of a thread at work, and not of one that is blocked. */
static void test_heartbeat(void **state)
{
	struct lobby_opts o = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;
	struct lobby l;
	uint64_t beat;

	assert_int_equal(lobby_open(&l, &o, &e), 0);
	beat = __atomic_load_n(&l.page->heartbeat, __ATOMIC_RELAXED);
	while (__atomic_load_n(&l.page->heartbeat, __ATOMIC_RELAXED) == beat)
		;
	usleep(2 * WIRE_BEAT_NS / 1000); /* one more: it may have been at work until then */
	beat = __atomic_load_n(&l.page->heartbeat, __ATOMIC_RELAXED);
	usleep(5 * WIRE_BEAT_NS / 1000);
	assert_true(__atomic_load_n(&l.page->heartbeat, __ATOMIC_RELAXED) - beat <= 1);
	lobby_close(&l);
}

/* Where a region cannot be mapped its process is answered all the same, and nobody else's. */
static void test_answer_nothing(void **state)
{
	struct lobby_opts o = { .follow = true };
	struct err e = ERR_INIT;
	struct wire_region *region, *other;
	struct lobby l;

	assert_int_equal(lobby_open(&l, &o, &e), 0);
	region = lobby_map_region(&l, 1);
	other = lobby_map_region(&l, 2);
	region->nr_objects = other->nr_objects = 2;
	region->objects[0].state = WIRE_OBJECT_DONE;
	region->objects[1].state = other->objects[1].state = WIRE_OBJECT_ANNOUNCED;
	lobby_answer_nothing(&l, 1);
	assert_int_equal(region->objects[0].state, WIRE_OBJECT_DONE);
	assert_int_equal(region->objects[1].state, WIRE_OBJECT_ANSWERED);
	assert_int_equal(region->objects[1].nr_tables, 0);
	assert_int_equal(other->objects[1].state, WIRE_OBJECT_ANNOUNCED);
	lobby_unmap_region(region);
	lobby_unmap_region(other);
	lobby_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	       cmocka_unit_test(test_limits),
		cmocka_unit_test(test_recycled_door),  cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_closed),	       cmocka_unit_test(test_killed),
		cmocka_unit_test(test_heartbeat),      cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_answer_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
