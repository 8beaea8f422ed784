// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A process that becomes another program is still the process that was asked for (wrapper scripts,
 * cargo's proxies): the agent goes along. Our variables were taken out of the environment so that
 * children do not inherit them; exec in the traced process itself puts them back. A child between
 * fork or vfork and exec has another pid, and gets none.
 */
#include "agent/agent.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int (*real_execve)(const char *, char *const[], char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);
static int (*real_fexecve)(int, char *const[], char *const[]);

void exec_init(void)
{
	real_execve = agent_next("execve");
	real_execvpe = agent_next("execvpe");
	real_fexecve = agent_next("fexecve");
}

static bool is_traced_process(void)
{
	return agent_pid && agent_env.ctl && agent_env.preload && getpid() == agent_pid;
}

struct new_env {
	void *map; /* NULL: the environment is used as it is */
	size_t size;
	char *const *envp;
};

static bool has_name(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Is the agent the first of that list already, as with --follow? */
static bool is_with_agent(const char *list)
{
	const char *ours = agent_env.preload + strlen("LD_PRELOAD=");
	size_t len = strcspn(ours, ":");

	return strncmp(list, ours, len) == 0 && (list[len] == ':' || !list[len]);
}

/* "LD_PRELOAD=" our path [":" what the program itself wants]. */
static void write_preload(char *to, const char *theirs)
{
	size_t len = strcspn(agent_env.preload, ":");

	memcpy(to, agent_env.preload, len);
	to += len;
	if (theirs && *theirs) {
		*to++ = ':';
		len = strlen(theirs);
		memcpy(to, theirs, len);
		to += len;
	}
	*to = '\0';
}

/* No malloc: other threads' locks may be held for ever in what is left of a process here. */
static void make_env(struct new_env *n, char *const envp[])
{
	const char *theirs = NULL;
	size_t nr = 0, k = 0;
	char **entries;

	*n = (struct new_env){ .envp = envp };
	if (!is_traced_process())
		return;
	for (; envp && envp[nr]; nr++)
		if (has_name(envp[nr], "LD_PRELOAD"))
			theirs = strchr(envp[nr], '=') + 1;
	n->size = (nr + 3) * sizeof(char *) + strlen(agent_env.preload) +
		  (theirs ? strlen(theirs) : 0) + 2;
	entries = mmap(NULL, n->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (entries == MAP_FAILED)
		return;
	n->map = entries;
	n->envp = entries;
	for (size_t i = 0; i < nr; i++)
		if (!has_name(envp[i], "LD_PRELOAD") && !has_name(envp[i], WIRE_ENV))
			entries[k++] = envp[i];
	entries[k++] = (char *)agent_env.ctl;
	entries[k++] = (char *)(entries + nr + 3);
	entries[k] = NULL;
	if (theirs && is_with_agent(theirs))
		theirs = strchr(theirs, ':') ? strchr(theirs, ':') + 1 : NULL;
	write_preload((char *)(entries + nr + 3), theirs);
}

static int failed(const struct new_env *n, int rc)
{
	int saved = errno;

	if (n->map)
		munmap(n->map, n->size);
	errno = saved;
	return rc;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	struct new_env n;

	if (!real_execve)
		exec_init();
	make_env(&n, envp);
	return failed(&n, real_execve(path, argv, n.envp));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct new_env n;

	if (!real_execvpe)
		exec_init();
	make_env(&n, envp);
	return failed(&n, real_execvpe(file, argv, n.envp));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct new_env n;

	if (!real_fexecve)
		exec_init();
	make_env(&n, envp);
	return failed(&n, real_fexecve(fd, argv, n.envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* The variadic ones: arguments up to NULL, for execle the environment behind it. */
#define MAX_ARGS 1024
#define COLLECT(argv, first, ap)                         \
	char *argv[MAX_ARGS] = { (char *)(first) };      \
	do {                                             \
		int i_ = 0;                              \
		va_start(ap, first);                     \
		while (argv[i_] && i_ < MAX_ARGS - 2)    \
			argv[++i_] = va_arg(ap, char *); \
		argv[i_] = NULL;                         \
	} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, arg, ap);

	va_end(ap);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, arg, ap);

	va_end(ap);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, arg, ap);
	char *const *envp = va_arg(ap, char *const *);

	va_end(ap);
	return execve(path, argv, envp);
}
