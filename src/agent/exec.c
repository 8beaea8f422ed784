// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A process that becomes another program is still the process that was asked for (wrapper scripts,
 * cargo's proxies): the agent goes along. Our variables were taken out of the environment so that
 * children do not inherit them; exec in the traced process itself puts them back, and with --follow
 * every exec and spawn does. A child between fork or vfork and exec has another pid.
 */
#include "agent/agent.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT	   __attribute__((visibility("default")))
#define PATH_BYTES 4096

static int (*real_execve)(const char *, char *const[], char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);
static int (*real_fexecve)(int, char *const[], char *const[]);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);
static spawn_fn *real_posix_spawn, *real_posix_spawnp;

void exec_init(void)
{
	real_execve = agent_next("execve");
	real_execvpe = agent_next("execvpe");
	real_fexecve = agent_next("fexecve");
	real_posix_spawn = agent_next("posix_spawn");
	real_posix_spawnp = agent_next("posix_spawnp");
}

static bool is_traced(bool is_child)
{
	/* the number of a tool that is gone may be another process's by now */
	if (!agent_env.ctl || !*agent_env.ours || agent_is_tool_gone())
		return false;
	return agent_follows || (!is_child && agent_pid && getpid() == agent_pid);
}

/* The file that PATH finds, as execvp would; "" when none. */
static void find_in_path(const char *file, char to[PATH_BYTES])
{
	const char *dirs = getenv("PATH");

	if (strchr(file, '/')) {
		snprintf(to, PATH_BYTES, "%s", file);
		return;
	}
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir; dir = strchr(dir, ':')) {
		size_t len;

		dir += *dir == ':';
		len = strcspn(dir, ":");
		snprintf(to, PATH_BYTES, "%.*s/%s", len ? (int)len : 1, len ? dir : ".", file);
		if (access(to, X_OK) == 0)
			return;
	}
	*to = '\0';
}

struct new_env {
	void *room; /* given by the caller, may be NULL */
	size_t room_size;
	void *map; /* what had to be taken besides, NULL: nothing */
	size_t size;
	char *const *envp;
	bool is_told; /* if it fails, this must be taken back */
};

/* Enough for most; under a limit on address space there may be no other memory. */
static char reserve[128 << 10] __attribute__((aligned(16)));
static uint32_t reserve_in_use;

static void *take_memory(size_t size)
{
	void *map;

	if (size <= sizeof(reserve) && !__atomic_exchange_n(&reserve_in_use, 1, __ATOMIC_ACQUIRE))
		return reserve;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

static void give_memory(void *memory, size_t size)
{
	if (memory == reserve)
		__atomic_store_n(&reserve_in_use, 0, __ATOMIC_RELEASE);
	else if (memory)
		munmap(memory, size);
}

static bool has_name(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* The list of preloads takes the place of theirs: the order is the program's to see. */
static void put_entries(char **to, char *const *envp, char *preload)
{
	bool is_put = false;

	for (; envp && *envp; envp++) {
		bool is_list = has_name(*envp, "LD_PRELOAD");

		if (has_name(*envp, WIRE_ENV) || (is_list && is_put))
			continue;
		*to++ = is_list ? preload : *envp;
		is_put |= is_list;
	}
	*to++ = (char *)agent_env.ctl;
	if (!is_put)
		*to++ = preload;
	*to = NULL;
}

/* No malloc and little stack: exec is called in signal handlers, and other threads' locks may be
 * held for ever in what is left of a process here. */
static void make_env(struct new_env *n, char *const envp[], const char *file, bool search,
		     bool is_child)
{
	char needed[WIRE_SANITIZER_MAX], *path, *copy, *preload, **entries;
	const char *theirs = "";
	size_t nr = 0, len;

	n->map = NULL;
	n->envp = envp;
	n->is_told = !is_child && agent_exec_begins();
	if (!is_traced(is_child))
		return;
	for (; envp && envp[nr]; nr++)
		if (has_name(envp[nr], "LD_PRELOAD"))
			theirs = strchr(envp[nr], '=') + 1;
	/* their list is there twice: as it is, and with ours */
	len = strlen(theirs);
	n->size = (nr + 3) * sizeof(char *) + WIRE_PRELOAD_LEN + strlen(agent_env.ours) + 2 * len +
		  WIRE_PRELOAD_EXTRA;
	n->size += search ? PATH_BYTES : 0;
	entries = n->size <= n->room_size ? n->room : (n->map = take_memory(n->size));
	if (!entries)
		return;
	path = (char *)entries + n->size - PATH_BYTES;
	if (search)
		find_in_path(file, path);
	if (!image_takes_agent(search ? path : file, agent_path, needed))
		return;
	n->envp = entries;
	copy = memcpy(entries + nr + 3, theirs, len + 1);
	wire_preload_take(copy, agent_env.ours); /* with --follow it may be there already */
	preload = copy + len + 1;
	memcpy(preload, WIRE_PRELOAD, WIRE_PRELOAD_LEN);
	wire_preload_write(preload + WIRE_PRELOAD_LEN, copy, needed, agent_env.ours);
	put_entries(entries, envp, preload);
}

static int failed(const struct new_env *n, int rc)
{
	int saved = errno;

	give_memory(n->map, n->size);
	if (n->is_told)
		agent_exec_failed();
	errno = saved;
	return rc;
}

/* One exec that is asked for. */
struct call {
	const char *file;
	int fd; /* of fexecve, else -1 */
	bool search;
	char *const *argv, *const *envp;
};

static int go(const struct call *c, char *const envp[])
{
	if (!real_execve)
		exec_init();
	if (c->fd >= 0)
		return real_fexecve(c->fd, c->argv, envp);
	return (c->search ? real_execvpe : real_execve)(c->file, c->argv, envp);
}

static int become_with(const struct call *c, struct new_env *n)
{
	make_env(n, c->envp, c->file, c->search, false);
	return failed(n, go(c, n->envp));
}

/*
 * A child by vfork has its parent's memory. What it takes and cannot give back, as it becomes
 * another program, would be lost to its parent: so it works on the stack, if there is little to do.
 */
static __attribute__((noinline)) int become_vforked(const struct call *c)
{
	char room[6 << 10] __attribute__((aligned(16)));
	struct new_env n = { .room = room, .room_size = sizeof(room) };

	return become_with(c, &n);
}

static int become(const struct call *c)
{
	struct new_env n = { 0 };

	return agent_follows && agent_is_vforked() ? become_vforked(c) : become_with(c, &n);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return become(&(struct call){ path, -1, false, argv, envp });
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return become(&(struct call){ file, -1, true, argv, envp });
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return become(&(struct call){ path, fd, false, argv, envp });
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct new_env n = { 0 };

	if (!real_posix_spawn)
		exec_init();
	make_env(&n, envp, path, false, true);
	return failed(&n, real_posix_spawn(pid, path, actions, attr, argv, n.envp));
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct new_env n = { 0 };

	if (!real_posix_spawnp)
		exec_init();
	make_env(&n, envp, file, true, true);
	return failed(&n, real_posix_spawnp(pid, file, actions, attr, argv, n.envp));
}

/* ---- the variadic ones ---- */

/* Arguments up to NULL, as an array of our own: on the stack if they are few. */
struct args {
	char *few[64];
	char **argv;
	size_t size; /* of a mapping, 0: none */
};

/* The first argument and what follows it in ap; ap is then behind the NULL. False: no memory. */
static bool collect(struct args *a, const char *first, va_list ap)
{
	va_list again;
	size_t nr = 1;

	va_copy(again, ap);
	if (first)
		while (va_arg(again, char *))
			nr++;
	va_end(again);
	a->argv = a->few;
	a->size = 0;
	if (nr + 1 > sizeof(a->few) / sizeof(a->few[0])) {
		a->size = (nr + 1) * sizeof(char *);
		a->argv = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (a->argv == MAP_FAILED)
			return false;
	}
	a->argv[0] = (char *)first;
	for (size_t i = 1; first && i <= nr; i++)
		a->argv[i] = va_arg(ap, char *);
	return true;
}

static int release(const struct args *a, int rc)
{
	int saved = errno;

	if (a->size)
		munmap(a->argv, a->size);
	errno = saved;
	return rc;
}

EXPORT int execl(const char *path, const char *arg, ...)
{
	struct args a;
	va_list ap;
	bool ok;

	va_start(ap, arg);
	ok = collect(&a, arg, ap);
	va_end(ap);
	return ok ? release(&a, execv(path, a.argv)) : -1;
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	struct args a;
	va_list ap;
	bool ok;

	va_start(ap, arg);
	ok = collect(&a, arg, ap);
	va_end(ap);
	return ok ? release(&a, execvp(file, a.argv)) : -1;
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *envp = NULL;
	struct args a;
	va_list ap;
	bool ok;

	va_start(ap, arg);
	ok = collect(&a, arg, ap);
	if (ok)
		envp = va_arg(ap, char *const *);
	va_end(ap);
	return ok ? release(&a, execve(path, a.argv, envp)) : -1;
}
