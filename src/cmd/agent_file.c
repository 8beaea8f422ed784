// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/agent_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define AGENT_NAME  "libfutrace-agent.so"
#define PROBES_NAME "libfutrace-probes.so"

static char *try_file(const char *dir, const char *rest)
{
	char *path = xasprintf("%s/%s", dir, rest), *real = realpath(path, NULL);

	free(path);
	return real;
}

char *agent_find(struct err *e)
{
	static const char *const places[] = {
		AGENT_NAME,
		"../lib/futrace/" AGENT_NAME,
		"../lib64/futrace/" AGENT_NAME,
		"../lib/x86_64-linux-gnu/futrace/" AGENT_NAME,
	};
	const char *given = getenv("FUTRACE_AGENT");
	char dir[PATH_MAX] = "", *slash, *real = NULL;

	if (given && *given) {
		real = realpath(given, NULL);
		if (!real)
			err_set(e, ERR_NO_AGENT, "FUTRACE_AGENT names %s: %s", given,
				strerror(errno));
		return real;
	}
	if (readlink("/proc/self/exe", dir, sizeof(dir) - 1) > 0 && (slash = strrchr(dir, '/')))
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places) && !real; i++)
		real = try_file(dir, places[i]);
#ifdef FUTRACE_LIBDIR
	if (!real)
		real = try_file(FUTRACE_LIBDIR "/futrace", AGENT_NAME);
#endif
	if (!real)
		err_set(e, ERR_NO_AGENT,
			"%s is not found beside %s nor where it is installed; install futrace again or "
			"set FUTRACE_AGENT to its path",
			AGENT_NAME, dir);
	return real;
}

char *agent_find_probes(const char *agent)
{
	char *dir = xstrndup(agent, strrchr(agent, '/') - agent);
	char *real = try_file(dir, PROBES_NAME);

	free(dir);
	if (real && access(real, R_OK)) {
		free(real);
		real = NULL;
	}
	return real;
}
