// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the kernel tells of processes that are not ours: how they ended, and who they are. */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/exit_code.h"
#include "capture/whois.h"
#include "unit.h"

/* A child that ends in this way; returns its pidfd when it is dead, and not yet collected. */
static int dead_child(int status, int sig, pid_t *pid)
{
	struct pollfd pfd = { .events = POLLIN };

	*pid = fork();
	if (*pid == 0) {
		if (sig)
			raise(sig);
		_exit(status);
	}
	pfd.fd = syscall(SYS_pidfd_open, *pid, 0);
	assert_true(pfd.fd >= 0);
	assert_int_equal(poll(&pfd, 1, 20000), 1);
	return pfd.fd;
}

static void test_end_of_a_zombie(void **state)
{
	static const struct {
		int status, sig;
	} ends[] = { { 0, 0 }, { 5, 0 }, { 255, 0 }, { 0, SIGKILL }, { 0, SIGTERM } };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int got = -1, want = -1;
		pid_t pid;
		int fd = dead_child(ends[i].status, ends[i].sig, &pid);

		assert_true(exit_code_get(fd, pid, &got));
		assert_int_equal(waitpid(pid, &want, 0), pid);
		assert_int_equal(got, want);
		close(fd);
	}
}

/* Once it is collected its number may be another's: the pidfd tells, or nobody does. */
static void test_end_of_one_that_was_collected(void **state)
{
	int got = -1, want = -1;
	pid_t pid;
	int fd = dead_child(7, 0, &pid);

	assert_int_equal(waitpid(pid, &want, 0), pid);
	if (exit_code_get(fd, pid, &got))
		assert_int_equal(got, want);
	/* a number that another process has now says nothing */
	got = -1;
	if (exit_code_get(fd, getpid(), &got))
		assert_int_equal(got, want);
	close(fd);
	assert_false(exit_code_get(-1, pid, &got));
}

static void test_who_is_who(void **state)
{
	int fd = memfd_create("who", MFD_CLOEXEC);
	struct stat st;
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(whois_find(getpid(), st.st_ino), getpid());
	/* nobody else is taken for a process that nobody knows */
	assert_int_equal(whois_find(getpid(), UINT64_MAX), getpid());
	assert_int_equal(whois_find(UINT32_MAX, st.st_ino), UINT32_MAX);
	munmap(map, 4096);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_a_zombie),
		cmocka_unit_test(test_end_of_one_that_was_collected),
		cmocka_unit_test(test_who_is_who),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
