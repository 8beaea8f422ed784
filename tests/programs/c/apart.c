// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * apart PLUGIN HERE: loads PLUGIN into a link namespace of its own, by dlmopen, and runs it there;
 * if HERE is not 0 also by dlopen, as everybody does. Prints the truth of the last.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void use(void *lib, int prints)
{
	uint64_t (*run)(uint32_t) = lib ? (uint64_t(*)(uint32_t))dlsym(lib, "plugin_run") : NULL;
	void (*print)(void) = lib ? (void (*)(void))dlsym(lib, "plugin_print") : NULL;

	if (!run || !print) {
		fprintf(stderr, "apart: %s\n", dlerror());
		exit(1);
	}
	run(2);
	if (prints)
		print();
}

int main(int argc, char **argv)
{
	int here = argc > 2 && atoi(argv[2]);

	if (argc < 2)
		return 2;
	use(dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL), !here);
	if (here)
		use(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), 1);
	return 0;
}
