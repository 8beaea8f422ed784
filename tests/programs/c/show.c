// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * show ARGS...: prints its arguments and its environment as it is seen by libc, then the names in
 * the kernel's copy of it to stderr: what whoever started this program really handed over.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void show_kernels(void)
{
	static char all[1 << 20];
	int fd = open("/proc/self/environ", O_RDONLY);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, all + len, sizeof(all) - 1 - len)) > 0)
		len += n;
	for (char *p = all; p < all + len; p += strlen(p) + 1)
		fprintf(stderr, "handed over: %.*s\n", (int)strcspn(p, "="), p);
}

int main(int argc, char **argv)
{
	printf("%d arguments\n", argc);
	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	for (char **e = environ; *e; e++)
		printf("env: %s\n", *e);
	show_kernels();
	return 11;
}
