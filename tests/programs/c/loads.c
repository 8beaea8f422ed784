// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * loads PLUGIN busy | each NR | all NR | truncate | again [OTHER] | relative: does something
 * hostile, then loads PLUGIN, runs its tasks and prints their truth.
 *
 * busy: another thread allocates blocks aligned as Tokio's tasks are, all the time. each, all: the
 * libraries ./many/0.so and so on are loaded and let go, one after the other or all at once.
 * truncate: the file that this process is recorded through, if it is, is made empty. again: PLUGIN,
 * or OTHER, is loaded, looked into and let go before, so that PLUGIN comes to the same place; a
 * child is forked in between. relative: the path is relative to a folder that is left before
 * anybody looks into the library.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LIBS 1000

static int is_over, nr_blocks;

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "loads: %s\n", dlerror());
		exit(1);
	}
	return lib;
}

static void *allocate(void *arg)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		void *block;

		if (posix_memalign(&block, 128, 256) == 0)
			free(block);
		__atomic_fetch_add(&nr_blocks, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void load_many(int nr, int all)
{
	static void *libs[MAX_LIBS];
	char path[64];

	for (int i = 0; i < nr && i < MAX_LIBS; i++) {
		snprintf(path, sizeof(path), "./many/%d.so", i);
		libs[i] = load(path);
		if (!all)
			dlclose(libs[i]);
	}
	for (int i = 0; all && i < nr && i < MAX_LIBS; i++)
		dlclose(libs[i]);
}

static void truncate_channel(void)
{
	static char all[1 << 16];
	int fd = open("/proc/self/environ", O_RDONLY);
	ssize_t len = read(fd, all, sizeof(all) - 1);

	close(fd);
	for (char *p = all; p < all + len; p += strlen(p) + 1) {
		if (strncmp(p, "FUTRACE_CTL=", 12) != 0)
			continue;
		fd = open(p + 12, O_RDWR);
		if (fd >= 0)
			fprintf(stderr, "loads: tried to truncate: %s\n",
				ftruncate(fd, 0) ? "no" : "done");
		close(fd);
	}
}

static void *load_once(const char *path)
{
	void *lib = load(path), *place = dlsym(lib, "plugin_run");

	dlclose(lib);
	if (dlopen(path, RTLD_NOW | RTLD_NOLOAD))
		fprintf(stderr, "loads: %s is still there\n", path);
	return place;
}

static void fork_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, &status, 0);
	fprintf(stderr, "loads: a child ended well: %d\n", status == 0);
}

static void *load_relative(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096], name[4096];
	void *lib;

	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	snprintf(name, sizeof(name), ".%s", slash);
	if (chdir(folder))
		exit(1);
	lib = load(name);
	if (chdir("/"))
		exit(1);
	return lib;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int is_busy = strcmp(how, "busy") == 0;
	void *plugin, *before = NULL, *run;
	pthread_t thread;

	if (argc < 3)
		return 2;
	if (is_busy) {
		pthread_create(&thread, NULL, allocate, NULL);
		while (__atomic_load_n(&nr_blocks, __ATOMIC_RELAXED) < 1000)
			sched_yield();
	} else if (strcmp(how, "truncate") == 0) {
		truncate_channel();
	} else if (strcmp(how, "again") == 0) {
		before = load_once(argc > 3 ? argv[3] : argv[1]);
		fork_child();
	} else if (strcmp(how, "relative") != 0) {
		load_many(argc > 3 ? atoi(argv[3]) : 1, strcmp(how, "all") == 0);
	}
	plugin = strcmp(how, "relative") == 0 ? load_relative(argv[1]) : load(argv[1]);
	run = dlsym(plugin, "plugin_run");
	if (before)
		fprintf(stderr, "loads: same place: %d\n", run == before);
	((uint64_t(*)(uint32_t))run)(2);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	if (is_busy)
		pthread_join(thread, NULL);
	((void (*)(void))dlsym(plugin, "plugin_print"))();
	fflush(stdout);
	return 42;
}
