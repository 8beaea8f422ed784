// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * plugin-host LIBRARY WORKERS...: loads LIBRARY some time after the start, runs it once for each
 * WORKERS (0: in this thread), lets go of it, loads it again and prints its truth. LIBRARY without
 * a slash is found by this program's own RUNPATH ($ORIGIN), as ld.so does for the caller of dlopen.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *load(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "plugin-host: %s\n", dlerror());
		exit(1);
	}
	return lib;
}

static void *find(void *lib, const char *name)
{
	void *fn = dlsym(lib, name);

	if (!fn) {
		fprintf(stderr, "plugin-host: %s\n", dlerror());
		exit(1);
	}
	return fn;
}

int main(int argc, char **argv)
{
	struct timespec later = { .tv_nsec = 30 * 1000 * 1000 };
	void *lib;
	int i;

	if (argc < 3) {
		fprintf(stderr, "usage: plugin-host LIBRARY WORKERS...\n");
		return 2;
	}
	nanosleep(&later, NULL);
	for (i = 2; i < argc; i++) {
		uint64_t (*run)(uint32_t);

		lib = load(argv[1]);
		run = (uint64_t(*)(uint32_t))find(lib, "plugin_run");
		run(atoi(argv[i]));
		dlclose(lib);
	}
	lib = load(argv[1]);
	((void (*)(void))find(lib, "plugin_print"))();
	return 0;
}
