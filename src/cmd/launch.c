// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/agent_file.h"
#include "cmd/command.h"

extern char **environ;

/* Where the libraries are that go into the program. */
struct agent {
	char *real;    /* the agent's path as the kernel names it */
	char *preload; /* what LD_PRELOAD shall begin with: the agent, and the probes if there */
	int fds[2];    /* kept open for names in it, or -1 */
};

/* A list of preloads is cut at spaces and colons; a path with any is named by our own descriptor
 * instead. NULL: it cannot be read. */
static char *preload_name(const char *real, int *fd)
{
	*fd = open(real, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	return strpbrk(real, " :\t\n$") ? xasprintf("/proc/%d/fd/%d", getpid(), *fd)
					: xstrdup(real);
}

static int agent_open(struct agent *a, struct err *e)
{
	char *probes, *second;

	*a = (struct agent){ .fds = { -1, -1 }, .real = agent_find(e) };
	if (!a->real)
		return -1;
	a->preload = preload_name(a->real, &a->fds[0]);
	if (!a->preload)
		return err_sys(e, "cannot read the agent %s", a->real);
	probes = agent_find_probes(a->real);
	second = probes ? preload_name(probes, &a->fds[1]) : NULL;
	if (second) {
		char *both = xasprintf("%s:%s", a->preload, second);

		free(a->preload);
		a->preload = both;
	}
	free(second);
	free(probes);
	return 0;
}

static void agent_close(struct agent *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->fds); i++)
		if (a->fds[i] >= 0)
			close(a->fds[i]);
	free(a->real);
	free(a->preload);
}

int launch(struct session_opts *o, bool no_cache)
{
	char *cache = no_cache ? NULL : cmd_cache_dir();
	struct err e = ERR_INIT;
	int status = EXIT_FAILED;
	struct agent agent;

	if (agent_open(&agent, &e) == 0) {
		o->envp = environ;
		o->path_env = getenv("PATH");
		o->agent = agent.preload;
		o->agent_real = agent.real;
		o->cache_dir = cache;
		if (session_run(o, &status, &e))
			cmd_note("%s", e.msg);
	} else {
		cmd_fail(&e);
	}
	agent_close(&agent);
	free(cache);
	return status;
}
