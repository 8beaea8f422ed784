// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * becomes HOW PROGRAM: becomes PROGRAM by that function of libc, or spawns it and ends as it did.
 * The variadic ones get 1500 arguments.
 *
 * overwritten: by execv, after the memory of the initial environment was overwritten, as programs
 * do that show their state in ps. handler, handler-path: by execv or execlp in a signal handler
 * whose stack is SMALL bytes, with a page below that nobody may touch.
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096
#define SMALL 4096 /* besides what the kernel itself needs */

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

/* All of it, also what is no longer in the list: the kernel knows where it put it. */
static void overwrite_environment(void)
{
	static char *copy[1000];
	unsigned long from = 0, to = 0;
	FILE *f = fopen("/proc/self/stat", "r");

	for (int nr = 0; environ[nr] && nr < 999; nr++)
		copy[nr] = strdup(environ[nr]);
	environ = copy;
	for (int field = 1; f && field < 50; field++)
		if (fscanf(f, "%*s") == EOF)
			break;
	if (f && fscanf(f, "%lu %lu", &from, &to) == 2 && from < to)
		memset((char *)from, 'x', to - from - 1);
	else
		fprintf(stderr, "becomes: no environment found\n");
	if (f)
		fclose(f);
}

static char *program;
static int is_by_path;

static void become(int number)
{
	char *few[] = { "show", "one", NULL };

	(void)number;
	if (is_by_path)
		execlp(program, "show", "one", (char *)NULL);
	else
		execv(program, few);
	_exit(1);
}

static void raise_on_small_stack(void)
{
	size_t frame = getauxval(AT_MINSIGSTKSZ), size = (frame ? frame : 2048) + SMALL;
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;
	char *map = mmap(NULL, PAGE + pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_handler = become, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = map + PAGE, .ss_size = size };

	if (mprotect(map + PAGE, pages, PROT_READ | PROT_WRITE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGUSR1, &sa, NULL))
		return;
	/* the stack begins right above the page that nobody may touch */
	raise(SIGUSR1);
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
	program = argv[2];
	is_by_path = strcmp(argv[1], "handler-path") == 0;
	if (strncmp(argv[1], "handler", 7) == 0)
		raise_on_small_stack();
	if (strcmp(argv[1], "overwritten") == 0) {
		overwrite_environment();
		execv(argv[2], few);
	}
	if (strcmp(argv[1], "spawn") == 0)
		return spawn(argv[2]);
	perror(argv[1]);
	return 1;
}
