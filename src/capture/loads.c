// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `ld.so --list PROGRAM`, which is what ldd(1) asks for, but without asking the loader that the
 * program names: one that lies there could be anything. A line of it is "name => path (address)",
 * "path (address)" or "name => not found".
 */
#include "capture/loads.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADER "/lib64/ld-linux-x86-64.so.2"

extern char **environ;

static void add_line(struct loads *l, const char *line)
{
	const char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line, *end;

	path += strspn(path, " \t");
	l->nr_missing += arrow && str_has_prefix(path, "not found");
	end = strstr(path, " (0x");
	if (*path == '/' && end)
		vec_push(&l->paths, xstrndup(path, end - path));
}

/* Its answer; all of it is read, whatever it says. */
static int read_answer(struct loads *l, int fd)
{
	FILE *from = fdopen(fd, "r");
	char *line = NULL;
	size_t cap = 0;

	if (!from) {
		close(fd);
		return -1;
	}
	while (getline(&line, &cap, from) > 0)
		add_line(l, line);
	free(line);
	fclose(from);
	return 0;
}

int loads_init(struct loads *l, const char *program, struct err *e)
{
	char *argv[] = { (char *)LOADER, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], status = -1, rc;
	pid_t pid;

	*l = (struct loads){ 0 };
	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot ask the loader");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(&pid, LOADER, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (rc) {
		close(fds[0]);
		return err_set(e, ERR_SYS, "cannot run the loader %s: %s", LOADER, strerror(rc));
	}
	rc = read_answer(l, fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc < 0 || status)
		return err_set(e, ERR_SYS, "the loader does not list the libraries of %s", program);
	return 0;
}

void loads_release(struct loads *l)
{
	vec_each (path, &l->paths)
		free(*path);
	vec_release(&l->paths);
}
