// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "capture/signals.h"

#define DEFAULT_PATH	  "/bin:/usr/bin"
#define SHELL		  "/bin/sh"
#define STATUS_NOT_FOUND  127
#define STATUS_CANNOT_RUN 126
#define MAX_SCRIPTS	  4 /* a script's interpreter may be a script; the kernel follows as far */

/* ---- finding it ---- */

static int may_execute(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
		return -1;
	}
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
}

/* NULL with errno set: that of the first candidate that exists, else ENOENT. */
static char *find(const char *cmd, const char *path_env)
{
	int reason = ENOENT;

	if (strchr(cmd, '/'))
		return may_execute(cmd) ? NULL : xstrdup(cmd);
	if (!*cmd) {
		errno = ENOENT;
		return NULL;
	}
	for (const char *dir = path_env ? path_env : DEFAULT_PATH;; dir++) {
		size_t len = strcspn(dir, ":");
		char *path =
			len ? xasprintf("%.*s/%s", (int)len, dir, cmd) : xasprintf("./%s", cmd);

		if (may_execute(path) == 0)
			return path;
		if (errno != ENOENT && errno != ENOTDIR && errno != EISDIR && reason == ENOENT)
			reason = errno;
		free(path);
		dir += len;
		if (!*dir)
			break;
	}
	errno = reason;
	return NULL;
}

static int cannot_run(const char *cmd, int *status, struct err *e)
{
	*status = errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
	if (errno == ENOENT && !strchr(cmd, '/'))
		return err_set(e, ERR_SYS, "%s: command not found", cmd);
	return err_sys(e, "cannot run %s", cmd);
}

/* ---- looking at it ---- */

/* The interpreter of "#! interpreter [argument]", or NULL. */
static char *interpreter_of(const char *path)
{
	char line[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	char *at = line + 2;

	if (fd >= 0)
		close(fd);
	if (len < 2 || line[0] != '#' || line[1] != '!')
		return NULL;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\r\n")] = '\0';
	return *at ? xstrdup(at) : NULL;
}

/* Will the loader ignore LD_PRELOAD, because the program gets rights that its caller has not? */
static bool is_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return true;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static void note_privileged(struct target_look *t)
{
	t->agent_works = false;
	err_set(&t->note, ERR_SETUID,
		"%s has setuid, setgid or capabilities and cannot be recorded; record a copy "
		"without them",
		t->image);
}

static void note_link(struct target_look *t, enum elf_link link)
{
	t->agent_works = false;
	err_set(&t->note, ERR_STATIC,
		"%s is %s and cannot be recorded; build it for a -linux-gnu target%s", t->image,
		link == ELF_DYNAMIC_MUSL ? "linked with musl" : "statically linked",
		link == ELF_DYNAMIC_MUSL ? "" : " without crt-static");
}

/* The agent gets in all the same: it may become another program, as is a script's habit. */
static void note_unreadable(struct target_look *t)
{
	if (t->is_script)
		return;
	err_set(&t->note, ERR_PERMISSION,
		"%s cannot be read, so its task tables cannot be found; its owner can chmod +r it",
		t->image);
}

static void note_failed(struct target_look *t, const struct err *why)
{
	if (why->tag == ERR_FOREIGN) {
		t->agent_works = false;
		err_set(&t->note, ERR_FOREIGN,
			"%s is for another architecture and cannot be recorded here", t->image);
	} else {
		err_set(&t->note, why->tag, "cannot look into %s (%s); recording all the same",
			t->image, why->msg);
	}
}

/* Only what is certain is told: a program without a runtime may load one, or become another. */
static void look_at_image(struct target_look *t, struct catalog *c)
{
	struct err why = ERR_INIT;
	const struct reading *r = catalog_get(c, t->image, t->image, &why);
	const struct discovery *d = r ? r->d : NULL;

	t->is_unreadable = faccessat(AT_FDCWD, t->image, R_OK, AT_EACCESS) && errno == EACCES;
	if (is_privileged(t->image))
		note_privileged(t);
	else if (t->is_unreadable)
		note_unreadable(t);
	else if (!d)
		note_failed(t, &why);
	else if (d->link == ELF_STATIC || d->link == ELF_STATIC_PIE || d->link == ELF_DYNAMIC_MUSL)
		note_link(t, d->link);
}

/* It must come before the agent. */
static void look_for_sanitizer(struct target_look *t)
{
	int fd = open(t->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr eh;

	if (fd < 0)
		return;
	if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh) && wire_is_elf(&eh, sizeof(eh)))
		wire_find_sanitizer(pread, fd, &eh, t->sanitizer);
	close(fd);
}

int target_look(struct target_look *t, const char *cmd, const char *path_env, struct catalog *c,
		int *status, struct err *e)
{
	struct err why = ERR_INIT;

	*t = (struct target_look){ .agent_works = true, .path = find(cmd, path_env) };
	if (!t->path)
		return cannot_run(cmd, status, e);
	t->image = xstrdup(t->path);
	for (int i = 0; i < MAX_SCRIPTS; i++) {
		char *next = interpreter_of(t->image);

		if (!next)
			break;
		t->is_script = true;
		free(t->image);
		t->image = next;
	}
	/* What the kernel does not know is given to the shell, as execvp does. */
	if (!catalog_get(c, t->image, t->image, &why) && why.tag == ERR_NOT_ELF && !t->is_script) {
		t->is_script = true;
		free(t->image);
		t->image = xstrdup(SHELL);
	}
	look_at_image(t, c);
	look_for_sanitizer(t);
	return 0;
}

void target_look_release(struct target_look *t)
{
	free(t->path);
	free(t->image);
	*t = (struct target_look){ 0 };
}

/* ---- starting it ---- */

static const char *value_of(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

struct env {
	VEC(char *) v;		 /* borrowed but for the two below */
	char *control, *preload; /* ours */
};

/* theirs: what CMD would have without us, may be NULL */
static char *preload_of(const struct target_start *s, const char *theirs)
{
	size_t size = WIRE_PRELOAD_LEN + strlen(s->agent) + (theirs ? strlen(theirs) : 0) +
		      WIRE_PRELOAD_EXTRA;
	char *entry = xcalloc(1, size);

	wire_preload_write(wire_put(entry, WIRE_PRELOAD), theirs, s->sanitizer ? s->sanitizer : "",
			   s->agent);
	return entry;
}

static void env_init(struct env *env, const struct target_start *s, const struct lobby *l)
{
	const char *theirs = value_of(s->envp, "LD_PRELOAD");
	bool is_put = false;

	*env = (struct env){ 0 };
	if (s->agent) {
		env->control = xasprintf("%s=/proc/%d/fd/%d", WIRE_ENV, getpid(), l->fd);
		env->preload = preload_of(s, theirs);
	}
	/* the list takes the place of theirs: the order is CMD's to see */
	for (char *const *at = s->envp; *at; at++) {
		bool is_list = s->agent && str_has_prefix(*at, WIRE_PRELOAD);

		if (!str_has_prefix(*at, WIRE_ENV "=") && !(is_list && is_put))
			vec_push(&env->v, is_list ? env->preload : *at);
		is_put |= is_list;
	}
	if (s->agent)
		vec_push(&env->v, env->control);
	if (s->agent && !is_put)
		vec_push(&env->v, env->preload);
	vec_push(&env->v, NULL);
}

static void env_release(struct env *env)
{
	free(env->control);
	free(env->preload);
	vec_release(&env->v);
}

/* In the child. Returns only when it failed, with errno. */
static void execute(const struct target_start *s, struct env *env)
{
	size_t argc = 0;
	char **argv;

	if (s->limits)
		limits_restore(s->limits);
	execve(s->path, s->argv, env->v.v);
	if (errno != ENOEXEC || !s->may_be_script)
		return;
	while (s->argv[argc])
		argc++;
	argv = xcalloc(argc + 2, sizeof(*argv));
	argv[0] = (char *)SHELL;
	argv[1] = (char *)s->path;
	for (size_t i = 1; i < argc; i++)
		argv[i + 1] = s->argv[i];
	execve(SHELL, argv, env->v.v);
}

pid_t target_spawn(const struct target_start *s, const struct lobby *l, int *status, struct err *e)
{
	int report[2], reason = 0;
	struct env env;
	ssize_t len;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return err_sys(e, "cannot start %s", s->path);
	env_init(&env, s, l);
	signals_block();
	pid = fork();
	if (pid == 0) {
		l->page->target_pid = getpid();
		signals_restore();
		execute(s, &env);
		reason = errno;
		if (write(report[1], &reason, sizeof(reason)) < 0)
			_exit(STATUS_CANNOT_RUN);
		_exit(STATUS_NOT_FOUND);
	}
	reason = errno;
	signals_unblock();
	close(report[1]);
	env_release(&env);
	if (pid < 0) {
		*status = STATUS_CANNOT_RUN;
		errno = reason;
		err_sys(e, "cannot start %s", s->path);
		goto out;
	}
	/* The other end closes by itself when exec succeeds. */
	while ((len = read(report[0], &reason, sizeof(reason))) < 0 && errno == EINTR)
		;
	if (len == sizeof(reason)) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = reason;
		pid = cannot_run(s->path, status, e);
	}
out:
	close(report[0]);
	return pid;
}

void target_become(const struct target_start *s, int *status, struct err *e)
{
	struct env env;

	env_init(&env, s, NULL);
	signals_restore();
	execute(s, &env);
	cannot_run(s->path, status, e);
	env_release(&env);
}
