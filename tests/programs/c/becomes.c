// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * becomes HOW PROGRAM: becomes PROGRAM by that function of libc, or spawns it and ends as it did.
 * The variadic ones get 1500 arguments.
 */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define TEN(x) x "0", x "1", x "2", x "3", x "4", x "5", x "6", x "7", x "8", x "9"
#define HUNDRED(x)                                                                          \
	TEN(x "0"), TEN(x "1"), TEN(x "2"), TEN(x "3"), TEN(x "4"), TEN(x "5"), TEN(x "6"), \
		TEN(x "7"), TEN(x "8"), TEN(x "9")
#define FIVE(x) HUNDRED(x "0"), HUNDRED(x "1"), HUNDRED(x "2"), HUNDRED(x "3"), HUNDRED(x "4")
#define MANY	FIVE("a"), FIVE("b"), FIVE("c")

static int spawn(const char *program)
{
	char *argv[] = { "show", "one", NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0)
		return 1;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char *few[] = { "show", "one", NULL };
	char *env[] = { "MINE=1", "ALSO=2", NULL };

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "execl") == 0)
		execl(argv[2], "show", MANY, (char *)NULL);
	else if (strcmp(argv[1], "execlp") == 0)
		execlp(argv[2], "show", MANY, (char *)NULL);
	else if (strcmp(argv[1], "execle") == 0)
		execle(argv[2], "show", MANY, (char *)NULL, env);
	else if (strcmp(argv[1], "execv") == 0)
		execv(argv[2], few);
	else if (strcmp(argv[1], "spawn") == 0)
		return spawn(argv[2]);
	perror(argv[1]);
	return 1;
}
