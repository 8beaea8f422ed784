// SPDX-License-Identifier: MIT OR Apache-2.0
/* A library whose constructor takes its time and then resolves a symbol. */
#include <dlfcn.h>
#include <unistd.h>

__attribute__((constructor)) static void construct(void)
{
	usleep(300000);
	dlsym(RTLD_DEFAULT, "malloc");
}
