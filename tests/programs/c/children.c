// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * children PLUGIN PROGRAM NR: runs tasks of PLUGIN, starts PROGRAM NR times by vfork and exec, and
 * NR children by vfork that just leave; some execs fail, as when a PATH is tried. Says how they
 * ended and whether any memory was lost by it, cancels threads that sleep, and prints the truth of
 * the tasks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long nr_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long nr = -1;

	if (!f || fscanf(f, "%ld", &nr) != 1)
		exit(1);
	fclose(f);
	return nr;
}

static int start(const char *program)
{
	char *argv[] = { "show", "one", NULL };
	int status = -1;
	pid_t pid = vfork();

	if (pid == 0) {
		if (program) {
			execve("/nonexistent/program", argv, environ);
			execvp("futrace-no-such-program", argv);
			execve(program, argv, environ);
		}
		_exit(program ? 127 : 9);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_all(const char *program, int nr)
{
	int nr_shown = 0, nr_left = 0;
	long before;

	start(program);
	before = nr_pages();
	for (int i = 0; i < nr; i++) {
		nr_shown += start(program) == 11;
		nr_left += start(NULL) == 9;
	}
	printf("shown %d, left %d, pages more: %ld\n", nr_shown, nr_left, nr_pages() - before);
}

/* ---- threads that are cancelled ---- */

static int nr_cleaned;

static void clean(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&nr_cleaned, 1, __ATOMIC_RELAXED);
}

static void *sleep_in(void *arg)
{
	struct timespec hour = { .tv_sec = 3600 };
	struct timeval hour_us = { .tv_sec = 3600 };
	struct epoll_event event;

	pthread_cleanup_push(clean, NULL);
	switch ((long)arg % 6) {
	case 0:
		nanosleep(&hour, NULL);
		break;
	case 1:
		clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
		break;
	case 2:
		poll(NULL, 0, -1);
		break;
	case 3:
		ppoll(NULL, 0, &hour, NULL);
		break;
	case 4:
		select(0, NULL, NULL, NULL, &hour_us);
		break;
	default:
		epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_threads(void)
{
	enum { NR = 30 };
	struct timespec ms = { .tv_nsec = 20 * 1000 * 1000 };
	pthread_t threads[NR];
	int nr_cancelled = 0;

	for (long i = 0; i < NR; i++)
		pthread_create(&threads[i], NULL, sleep_in, (void *)i);
	nanosleep(&ms, NULL);
	for (int i = 0; i < NR; i++) {
		void *result;

		pthread_cancel(threads[i]);
		pthread_join(threads[i], &result);
		nr_cancelled += result == PTHREAD_CANCELED;
	}
	printf("cancelled %d, cleaned %d\n", nr_cancelled, nr_cleaned);
}

int main(int argc, char **argv)
{
	uint64_t (*run)(uint32_t);
	void *plugin;

	if (argc != 4)
		return 2;
	plugin = dlopen(argv[1], RTLD_NOW);
	if (!plugin)
		return 1;
	run = (uint64_t(*)(uint32_t))dlsym(plugin, "plugin_run");
	run(2);
	fflush(stdout);
	start_all(argv[2], atoi(argv[3]));
	cancel_threads();
	run(0);
	fflush(stdout);
	((void (*)(void))dlsym(plugin, "plugin_print"))();
	return 42;
}
