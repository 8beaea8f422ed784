// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/agent_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "symbol/image.h"
#include "wire/region.h"
#include "wire/stamp.h"

#define AGENT_NAME  "libfutrace-agent.so"
#define PROBES_NAME "libfutrace-probes.so"

static char *try_file(const char *dir, const char *rest)
{
	char *path = xasprintf("%s/%s", dir, rest), *real = realpath(path, NULL);

	free(path);
	return real;
}

/* The folder of this program's file. "": it is not known. */
static void find_own_folder(char dir[static PATH_MAX])
{
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	dir[MAX(len, 0)] = '\0';
	if (len <= 0 && (!started_as || !realpath(started_as, dir))) /* there is no /proc */
		dir[0] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
}

static bool has_stamp(const struct image *img)
{
	const struct image_section *s = image_section(img, WIRE_STAMP_SECTION);
	const uint8_t *data = s ? image_section_data(img, s) : NULL;
	const struct wire_stamp want = { WIRE_MAGIC, WIRE_VERSION, WIRE_LAYOUT };

	return data && s->size_bytes >= sizeof(want) && memcmp(data, &want, sizeof(want)) == 0;
}

/* What is wrong with it as a library, or NULL. */
static const char *what_is_wrong(const char *path, struct image **img, struct err *why)
{
	*img = image_open(path, path, why);
	if (!*img)
		return why->tag == ERR_FOREIGN ? "is for another architecture"
		       : why->tag == ERR_NOT_ELF || why->tag == ERR_BAD_ELF ? "is damaged"
									    : "cannot be read";
	if ((*img)->nr_broken || (*img)->lost_sections)
		return "is damaged: a part of it is missing";
	return (*img)->link == ELF_SHARED_OBJECT ? NULL : "is no library";
}

static int check_agent(const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	struct image *img;
	const char *wrong = what_is_wrong(path, &img, &why);

	if (!wrong && !has_stamp(img))
		wrong = "does not belong to this version of futrace";
	image_close(img);
	if (!wrong)
		return 0;
	return err_set(e, ERR_NO_AGENT, "the agent %s %s; install futrace again%s", path, wrong,
		       getenv("FUTRACE_AGENT") ? " or unset FUTRACE_AGENT" : "");
}

static char *checked(char *real, struct err *e)
{
	if (real && check_agent(real, e)) {
		free(real);
		return NULL;
	}
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
	char dir[PATH_MAX], *real = NULL;

	if (given && *given) {
		real = realpath(given, NULL);
		if (!real)
			err_set(e, ERR_NO_AGENT, "FUTRACE_AGENT names %s: %s", given,
				strerror(errno));
		return checked(real, e);
	}
	find_own_folder(dir);
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
			AGENT_NAME, *dir ? dir : "futrace");
	return checked(real, e);
}

static bool is_bad_library(const char *path)
{
	struct err why = ERR_INIT;
	struct image *img;
	bool is_bad = what_is_wrong(path, &img, &why);

	image_close(img);
	return is_bad;
}

char *agent_find_probes(const char *agent)
{
	char *dir = xstrndup(agent, strrchr(agent, '/') - agent);
	char *real = try_file(dir, PROBES_NAME);

	free(dir);
	if (real && is_bad_library(real)) {
		free(real);
		real = NULL;
	}
	return real;
}
