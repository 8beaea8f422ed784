// SPDX-License-Identifier: MIT OR Apache-2.0
/* limits: gives itself two gigabytes of address space, and uses a little of it as anybody may. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCK ((size_t)64 << 20)

static void *in_thread(void *arg)
{
	return arg;
}

int main(void)
{
	struct rlimit two = { (rlim_t)2 << 30, (rlim_t)2 << 30 };
	char *block;

	printf("setrlimit: %d\n", setrlimit(RLIMIT_AS, &two));
	block = malloc(BLOCK);
	printf("malloc: %s\n", block ? "ok" : strerror(errno));
	if (block)
		memset(block, 1, BLOCK);
	for (int i = 0; i < 16; i++) {
		pthread_t thread;
		int rc = pthread_create(&thread, NULL, in_thread, NULL);

		printf("pthread_create: %s\n", rc ? strerror(rc) : "ok");
		if (!rc)
			pthread_join(thread, NULL);
	}
	free(block);
	return 12;
}
