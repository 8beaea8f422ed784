// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * /proc/PID/cgroup says in which group a process is, /proc/self/mountinfo where groups are mounted,
 * and from which group on: in a container that may be one far below the root, and the name of the
 * process's group may begin with it, with "/..", or be just "/". What is above the mounted part
 * cannot be seen, but version 1 says the smallest limit of all.
 */
#include "capture/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/util.h"

#define MAX_TEXT     (1 << 20)
#define MAX_LINE     8192
#define MACHINE_PART 8
#define LIMIT_PART   8
#define FREE_PART    2
#define SHARE_MIN    (UINT64_C(256) << 10)
#define V1_HIERARCHY "hierarchical_memory_limit"

/* The files of one version. */
struct version {
	const char *fstype, *used, *cached;
	const char *limits[2];
};

static const struct version versions[] = {
	{ "cgroup", "memory.usage_in_bytes", "total_inactive_file", { "memory.limit_in_bytes" } },
	{ "cgroup2", "memory.current", "inactive_file", { "memory.max", "memory.high" } },
};
enum { V1, V2 };

/* ---- numbers ---- */

static bool read_text(const char *folder, const char *name, struct strbuf *text)
{
	char *path = xasprintf("%s/%s", folder, name);
	int rc = io_read_file(path, text, MAX_TEXT, NULL);

	free(path);
	return rc == 0;
}

/* "max" is none; so is what version 1 says for it, the largest number of whole pages. */
static uint64_t number_in(const char *text)
{
	uint64_t n = 0;

	if (*text < '0' || *text > '9')
		return CGROUP_NO_LIMIT;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *text - '0', &n))
			return CGROUP_NO_LIMIT;
	return (*text && *text != '\n') || n > INT64_MAX / 2 ? CGROUP_NO_LIMIT : n;
}

static uint64_t read_number(const char *folder, const char *name)
{
	struct strbuf text = STRBUF_INIT;
	uint64_t n = read_text(folder, name, &text) ? number_in(text.s) : CGROUP_NO_LIMIT;

	strbuf_release(&text);
	return n;
}

/* Of memory.stat: "name number" on a line of its own. */
static uint64_t stat_number(const struct strbuf *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text->s; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ' ')
			return number_in(line + len + 1);
	}
	return CGROUP_NO_LIMIT;
}

static void look_at_group(const char *folder, const struct version *v, struct cgroup_memory *m)
{
	uint64_t limit = CGROUP_NO_LIMIT, used = read_number(folder, v->used), cached;
	struct strbuf stat = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(v->limits) && v->limits[i]; i++)
		limit = MIN(limit, read_number(folder, v->limits[i]));
	read_text(folder, "memory.stat", &stat);
	if (v == &versions[V1])
		m->limit_bytes = MIN(m->limit_bytes, stat_number(&stat, V1_HIERARCHY));
	if (limit != CGROUP_NO_LIMIT && used != CGROUP_NO_LIMIT) {
		cached = stat_number(&stat, v->cached);
		used -= MIN(used, cached == CGROUP_NO_LIMIT ? 0 : cached);
		m->free_bytes = MIN(m->free_bytes, limit - MIN(limit, used));
	}
	m->limit_bytes = MIN(m->limit_bytes, limit);
	strbuf_release(&stat);
}

/* ---- groups ---- */

/* Is the word one of a list that is separated by commas? */
static bool is_in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;; list++) {
		size_t item = strcspn(list, ", \n");

		if (item == len && memcmp(list, word, len) == 0)
			return true;
		list += item;
		if (*list != ',')
			return false;
	}
}

/* "4:memory:/path" of version 1, "0::/path" of version 2; to is the path. */
static bool find_group(const char *text, const struct version *v, char to[MAX_LINE])
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		char names[256];

		if (!path)
			return false;
		snprintf(names, sizeof(names), "%.*s", (int)(path - list - 1), list + 1);
		if (v == &versions[V2] ? *names : !is_in_list(names, "memory"))
			continue;
		snprintf(to, MAX_LINE, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		return true;
	}
	return false;
}

/* Spaces and the like are octal in mountinfo; in place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned c;

		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1 && c < 256) {
			*to++ = c;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* The part of the group's name that is below what is mounted; "" if it is not below. */
static const char *below(const char *group, const char *mounted)
{
	size_t len = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);

	if (strncmp(group, mounted, len) != 0 || (group[len] && group[len] != '/') ||
	    strstr(group, "/.."))
		return "";
	return strcmp(group + len, "/") == 0 ? "" : group + len;
}

/* From the group up to the one that is mounted. */
static void look_upwards(const char *root, const char *mount, const char *group,
			 const struct version *v, struct cgroup_memory *m)
{
	char *folder = xasprintf("%s%s%s", root, mount, group);
	size_t end = strlen(root) + strlen(mount);

	for (;;) {
		char *slash;

		look_at_group(folder, v, m);
		slash = strrchr(folder, '/');
		if (strlen(folder) <= end || !slash || slash < folder + end)
			break;
		*slash = '\0';
	}
	free(folder);
}

/* "36 31 0:32 ROOT MOUNT options [fields] - FSTYPE source options" */
static void look_at_mount(const char *root, const char *line, const char *groups,
			  struct cgroup_memory *m)
{
	char mounted[MAX_LINE], mount[MAX_LINE], group[MAX_LINE], fstype[32], options[1024];
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(line, "%*s %*s %*s %8191s %8191s", mounted, mount) != 2 ||
	    sscanf(dash, " - %31s %*s %1023s", fstype, options) != 2)
		return;
	unescape(mounted);
	unescape(mount);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct version *v = &versions[i];

		if (strcmp(fstype, v->fstype) != 0 || !find_group(groups, v, group))
			continue;
		if (v == &versions[V1] && !is_in_list(options, "memory"))
			continue;
		look_upwards(root, mount, below(group, mounted), v, m);
	}
}

void cgroup_memory(const char *root, uint32_t pid, struct cgroup_memory *m)
{
	struct strbuf mounts = STRBUF_INIT, groups = STRBUF_INIT;
	char *path = xasprintf("%s/proc/%u", root, pid), line[MAX_LINE];
	char *self = xasprintf("%s/proc/self", root);

	*m = (struct cgroup_memory){ CGROUP_NO_LIMIT, CGROUP_NO_LIMIT };
	if (read_text(path, "cgroup", &groups) && read_text(self, "mountinfo", &mounts))
		for (const char *at = mounts.s; *at; at += strcspn(at, "\n"), at += *at == '\n') {
			snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
			look_at_mount(root, line, groups.s, m);
		}
	free(path);
	free(self);
	strbuf_release(&mounts);
	strbuf_release(&groups);
}

uint64_t cgroup_share(const char *root, uint32_t pid, uint64_t own_bytes)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	uint64_t share = machine / MACHINE_PART;
	struct cgroup_memory m;

	cgroup_memory(root, pid, &m);
	if (m.limit_bytes != CGROUP_NO_LIMIT)
		share = MIN(share, m.limit_bytes / LIMIT_PART);
	if (m.free_bytes != CGROUP_NO_LIMIT)
		share = MIN(share, (m.free_bytes + own_bytes) / FREE_PART);
	return MAX(share, SHARE_MIN);
}
