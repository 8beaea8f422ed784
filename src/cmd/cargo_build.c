// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/cargo.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef void (*message_fn)(const json_t *message, void *arg);

/* Starts a program; its stdout is *out, the other streams are ours. */
static pid_t start(char **argv, FILE **out, struct err *e)
{
	posix_spawn_file_actions_t actions;
	int fds[2], rc;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (rc) {
		close(fds[0]);
		return err_set(e, ERR_SYS, "cannot run %s: %s; is cargo installed and on PATH?",
			       argv[0], strerror(rc));
	}
	*out = fdopen(fds[0], "r");
	return pid;
}

/* Runs a program that prints a JSON object a line; others are for people and are skipped. */
static int run_messages(char **argv, message_fn on_message, void *arg, int *status, struct err *e)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *out = NULL;
	int ws;
	pid_t pid = start(argv, &out, e);

	if (pid < 0)
		return -1;
	while ((len = getline(&line, &cap, out)) > 0) {
		json_t *message = *line == '{' ? json_loadb(line, len, 0, NULL) : NULL;

		if (message)
			on_message(message, arg);
		json_decref(message);
	}
	free(line);
	fclose(out);
	while (waitpid(pid, &ws, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "lost sight of %s", argv[0]);
	*status = WIFSIGNALED(ws) ? 128 + WTERMSIG(ws) : WEXITSTATUS(ws);
	return 0;
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void on_artefact(const json_t *message, void *arg)
{
	struct artefacts *built = arg;
	const json_t *target = json_object_get(message, "target");
	const json_t *profile = json_object_get(message, "profile");
	const char *reason = text(message, "reason"), *path = text(message, "executable");
	const char *name = text(target, "name"), *package = text(message, "package_id");
	const char *kind = json_string_value(json_array_get(json_object_get(target, "kind"), 0));

	if (!reason || strcmp(reason, "compiler-artifact") != 0 || !path || !name || !kind)
		return;
	vec_push(&built->list, (struct artefact){
				       .kind = xstrdup(kind),
				       .name = xstrdup(name),
				       .package = xstrdup(package ? package : ""),
				       .path = xstrdup(path),
				       .is_test = json_is_true(json_object_get(profile, "test")),
			       });
}

int cargo_build(char **argv, struct artefacts *built, int *status, struct err *e)
{
	return run_messages(argv, on_artefact, built, status, e);
}

void artefacts_release(struct artefacts *built)
{
	vec_each (a, &built->list) {
		free(a->kind);
		free(a->name);
		free(a->package);
		free(a->path);
	}
	vec_release(&built->list);
}

struct question {
	const char *package;
	char *answer;
};

static void on_metadata(const json_t *message, void *arg)
{
	struct question *q = arg;
	const json_t *package;
	size_t i;

	json_array_foreach(json_object_get(message, "packages"), i, package)
	{
		const char *id = text(package, "id"), *name = text(package, "default_run");

		if (id && name && !q->answer && strcmp(id, q->package) == 0)
			q->answer = xstrdup(name);
	}
}

char *cargo_default_run(char **argv, const char *package)
{
	struct question q = { .package = package };
	int status;

	if (run_messages(argv, on_metadata, &q, &status, NULL))
		return NULL;
	return q.answer;
}
