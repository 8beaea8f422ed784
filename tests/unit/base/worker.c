// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that whatever a worker does to itself, its caller goes on, is told what happened, and that
 * a worker can do nothing but read.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/worker.h"

#define MB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

static char why[WORKER_WHY];
static unsigned rounds;

static void count_rounds(void *arg)
{
	rounds++;
}

static enum worker_end run(struct worker_job job, struct strbuf *answer)
{
	struct worker_meanwhile meanwhile = { .fn = count_rounds };

	rounds = 0;
	why[0] = '\0';
	return worker_run(&job, &meanwhile, answer, why, NULL);
}

static enum worker_end run_bad(struct worker_job job)
{
	struct strbuf answer = STRBUF_INIT;
	enum worker_end end = run(job, &answer);

	assert_int_equal(answer.len, 0);
	strbuf_release(&answer);
	return end;
}

static void repeat(void *arg, struct strbuf *answer)
{
	for (unsigned i = 0; i < *(unsigned *)arg; i++)
		strbuf_addstr(answer, "0123456789abcdef");
}

/* Bytes come back as they are, also many. */
static void test_answer(void **state)
{
	unsigned nr[] = { 0, 1, 65536 };

	for (size_t i = 0; i < ARRAY_SIZE(nr); i++) {
		struct strbuf answer = STRBUF_INIT;

		assert_int_equal(run((struct worker_job){ repeat, &nr[i] }, &answer), WORKER_DONE);
		assert_int_equal(answer.len, 16 * nr[i]);
		assert_true(!answer.len || strcmp(answer.s + answer.len - 6, "abcdef") == 0);
		strbuf_release(&answer);
	}
}

/* An answer that does not fit is none. */
static void test_large(void **state)
{
	unsigned nr = 200 * MB / 16;

	assert_int_equal(run_bad((struct worker_job){ repeat, &nr }), WORKER_DIED);
	assert_string_equal(why, "gave no answer");
}

static void die(void *arg, struct strbuf *answer)
{
	strbuf_addstr(answer, "half of");
	raise(*(int *)arg);
}

/* By its own fault, or by a signal that has nothing to do with its limits. */
static void test_death(void **state)
{
	int signals[] = { SIGABRT, SIGSEGV, SIGBUS };
	const char *const names[] = { "was killed by SIGABRT", "was killed by SIGSEGV",
				      "was killed by SIGBUS" };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		assert_int_equal(run_bad((struct worker_job){ die, &signals[i] }), WORKER_DIED);
		assert_string_equal(why, names[i]);
	}
}

static void sleep_on(void *arg, struct strbuf *answer)
{
	for (;;)
		pause();
}

static void spin(void *arg, struct strbuf *answer)
{
	for (volatile unsigned i = 0;; i++)
		;
}

/* The caller is not blocked: it has its rounds until the time is over. */
static void test_late(void **state)
{
	struct worker_job hang = { .run = sleep_on, .elapsed_ns = 50 * MS };
	struct worker_job busy = { .run = spin, .cpu_ns = 50 * MS };

	assert_int_equal(run_bad(hang), WORKER_LATE);
	assert_true(rounds > 1);
	assert_int_equal(strncmp(why, "was stopped after ", 18), 0);
	assert_int_equal(run_bad(busy), WORKER_LATE);
	assert_true(rounds > 1);
}

static void answer_done(void *arg, struct strbuf *answer)
{
	strbuf_addstr(answer, "done");
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
}

/* As if the caller were stopped by Ctrl-Z, until the worker is done and its time long over. */
static void pause_long(void *arg)
{
	while (!__atomic_load_n((bool *)arg, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(600000);
}

/* Time in which the caller was stopped is none that a worker took. */
static void test_stopped(void **state)
{
	bool *is_done = mmap(NULL, sizeof(*is_done), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct worker_job job = { .run = answer_done, .arg = is_done, .elapsed_ns = 400 * MS };
	struct worker_meanwhile meanwhile = { pause_long, is_done };
	struct strbuf answer = STRBUF_INIT;

	assert_true(is_done != MAP_FAILED);
	assert_int_equal(worker_run(&job, &meanwhile, &answer, why, NULL), WORKER_DONE);
	assert_string_equal(answer.s, "done");
	munmap(is_done, sizeof(*is_done));
	strbuf_release(&answer);
}

#if !defined(__SANITIZE_ADDRESS__) /* there workers have no such limit */
static void eat(void *arg, struct strbuf *answer)
{
	for (;;)
		*(volatile char *)xmalloc(MB) = 1;
}

static void test_memory(void **state)
{
	assert_int_equal(run_bad((struct worker_job){ eat, .memory_bytes = 32 * MB }), WORKER_DIED);
	assert_string_equal(why, "ran out of memory");
}
#endif

static void *nothing(void *arg)
{
	return arg;
}

static void note(struct strbuf *answer, const char *what, long rc)
{
	strbuf_addf(answer, "%s%s ", what, rc < 0 ? ":refused" : ":done");
}

static void try_all(void *arg, struct strbuf *answer)
{
	pthread_t thread;
	long rc;

	note(answer, "read", open("/proc/self/exe", O_RDONLY));
	note(answer, "write", open(arg, O_WRONLY));
	note(answer, "create", open("/tmp", O_TMPFILE | O_RDWR, 0600));
	note(answer, "unlink", unlink(arg));
	note(answer, "socket", socket(AF_UNIX, SOCK_STREAM, 0));
	rc = fork();
	if (rc == 0)
		_exit(0);
	note(answer, "fork", rc);
	note(answer, "kill", kill(getppid(), 0));
	note(answer, "exec", execl("/bin/true", "true", NULL));
	rc = pthread_create(&thread, NULL, nothing, NULL);
	note(answer, "thread", -rc);
	if (!rc)
		pthread_join(thread, NULL);
}

static void test_filter(void **state)
{
	char path[] = "/tmp/futrace-worker-XXXXXX";
	struct strbuf answer = STRBUF_INIT;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(run((struct worker_job){ try_all, path }, &answer), WORKER_DONE);
	assert_string_equal(answer.s, "read:done write:refused create:refused unlink:refused "
				      "socket:refused fork:refused kill:refused exec:refused "
				      "thread:done ");
	assert_int_equal(unlink(path), 0);
	close(fd);
	strbuf_release(&answer);
}

/* Its descriptors are not the caller's. */
static void list_descriptors(void *arg, struct strbuf *answer)
{
	for (int fd = 3; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			strbuf_addf(answer, "%d ", fd);
}

static void test_descriptors(void **state)
{
	struct strbuf answer = STRBUF_INIT;
	int fd = open("/dev/null", O_RDWR);

	assert_true(fd > 2);
	assert_int_equal(run((struct worker_job){ list_descriptors }, &answer), WORKER_DONE);
	assert_string_equal(answer.s, "");
	close(fd);
	strbuf_release(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_descriptors),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(test_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
