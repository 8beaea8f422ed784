// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * loads PLUGIN busy | each NR | all NR | truncate | again [OTHER] | relative | gone | constructs:
 * does something hostile, then loads PLUGIN, runs its tasks and prints their truth.
 *
 * busy: another thread allocates blocks aligned as Tokio's tasks are, all the time. each, all: the
 * libraries ./many/0.so and so on are loaded and let go, one after the other or all at once.
 * truncate: the file that this process is recorded through, if it is, is made empty. again: PLUGIN,
 * or OTHER, is loaded, looked into and let go before, so that PLUGIN comes to the same place; a
 * child is forked in between. relative: the path is relative to a folder that is left before
 * anybody looks into the library. gone: PLUGIN is loaded, looked into and let go, and code that was
 * made where it had been allocates blocks of all sizes that tasks may have; when it is there again,
 * it is loaded and let go once more, which unloads nothing. constructs: while another thread
 * resolves a symbol, ./constructs.so is loaded, whose constructor does so too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void *resolve(void *arg)
{
	usleep(100000);
	return dlsym(RTLD_DEFAULT, "free") ? arg : NULL;
}

static void construct(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, resolve, NULL);
	load("./constructs.so");
	pthread_join(thread, NULL);
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

/* sub $8, %rsp; mov $posix_memalign, %rax; call *%rax; add $8, %rsp; ret */
static void allocate_from(void *place)
{
	unsigned char code[] = { 0x48, 0x83, 0xec, 8,	 0x48, 0xb8, 0,	   0,	 0, 0,	 0,
				 0,    0,    0,	   0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3 };
	int (*fn)(void **, size_t, size_t) = posix_memalign;
	uintptr_t page = (uintptr_t)place & -4096UL;
	char *made = mmap((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (made == MAP_FAILED) {
		perror("loads: mmap");
		exit(1);
	}
	memcpy(code + 6, &fn, sizeof(fn));
	memcpy(made, code, sizeof(code));
	fn = (int (*)(void **, size_t, size_t))(uintptr_t)made;
	for (size_t size = 128; size <= 128 * 1024; size += 128) {
		void *block;

		if (fn(&block, 128, size) == 0)
			free(block);
	}
	munmap(made, 4096);
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
	} else if (strcmp(how, "constructs") == 0) {
		construct();
	} else if (strcmp(how, "gone") == 0) {
		allocate_from(load_once(argv[1]));
	} else if (strcmp(how, "relative") != 0) {
		load_many(argc > 3 ? atoi(argv[3]) : 1, strcmp(how, "all") == 0);
	}
	plugin = strcmp(how, "relative") == 0 ? load_relative(argv[1]) : load(argv[1]);
	run = dlsym(plugin, "plugin_run");
	if (strcmp(how, "gone") == 0)
		dlclose(load(argv[1]));
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
