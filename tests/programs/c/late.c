// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * late LIBRARY...: loads one library for each line that it reads, looks for a symbol in it, and
 * says for how many milliseconds it slept meanwhile: it neither ran nor waited for a CPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static double slept_ms(void)
{
	unsigned long long ran = 0, queued = 0;
	FILE *f = fopen("/proc/self/schedstat", "r");
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!f || fscanf(f, "%llu %llu", &ran, &queued) != 2)
		printf("no schedstat\n");
	if (f)
		fclose(f);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6 - (ran + queued) / 1e6;
}

int main(int argc, char **argv)
{
	char line[80];

	setlinebuf(stdout);
	printf("ready\n");
	for (int i = 1; i < argc && fgets(line, sizeof(line), stdin); i++) {
		double before = slept_ms();
		void *lib = dlopen(argv[i], RTLD_NOW);

		if (!lib || !dlsym(lib, "nothing"))
			printf("%s\n", dlerror());
		printf("slept %.0f ms\n", slept_ms() - before);
	}
	return 0;
}
