// SPDX-License-Identifier: MIT OR Apache-2.0
/* A program without any async runtime: prints its arguments, exits with the number in the first
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("%s%s", i ? " " : "plain:", i ? argv[i] : "");
	printf("\neuid: %s\n", geteuid() == getuid() ? "same" : "other");
	return argc > 1 ? atoi(argv[1]) : 0;
}
