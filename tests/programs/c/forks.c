// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * forks NR: forks NR children, one after the other, while another thread takes and leaves the
 * loader's lock all the time. A child that does not end in 20 seconds is killed and counted.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	return 0;
}

static void *iterate(void *arg)
{
	for (;;)
		dl_iterate_phdr(look, arg);
	return NULL;
}

/* Status of a child, -1 if it hangs. */
static int wait_for(pid_t pid)
{
	struct timespec ms = { .tv_nsec = 1000 * 1000 };
	int status;

	for (int i = 0; i < 20 * 1000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		nanosleep(&ms, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1, nr_good = 0, status = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, iterate, NULL);
	for (int i = 0; i < nr && status != -1; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		status = wait_for(pid);
		nr_good += status == 0;
	}
	printf("%d children, %d exited with 0\n", nr, nr_good);
	return 13;
}
