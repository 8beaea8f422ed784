// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The files of a process. A mapped file may be gone or replaced, or lie in another mount namespace,
 * so it is opened by /proc/PID/map_files where the kernel allows that, else below /proc/PID/root
 * and then checked to be the same inode.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/doctor.h"

#define MAX_MAPS (64 << 20)

struct mapping {
	unsigned long long start, end, inode;
	unsigned major, minor;
	char path[4096];
};

/* "start-end perms offset major:minor inode path". Only what is executable and has a file. */
static bool parse_mapping(const char *line, struct mapping *m)
{
	char perms[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %*x %x:%x %llu %n", &m->start, &m->end, perms, &m->major,
		   &m->minor, &m->inode, &at) != 6 ||
	    !at || perms[2] != 'x' || line[at] != '/')
		return false;
	snprintf(m->path, sizeof(m->path), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	return true;
}

static bool is_same_file(const char *path, const struct mapping *m)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == m->inode && major(st.st_dev) == m->major &&
	       minor(st.st_dev) == m->minor;
}

/* A path by which that very file can be opened now; NULL when there is none. */
static char *open_path(const char *pid, const struct mapping *m)
{
	char *path = xasprintf("/proc/%s/map_files/%llx-%llx", pid, m->start, m->end);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	path = xasprintf("/proc/%s/root%s", pid, m->path);
	if (is_same_file(path, m))
		return path;
	free(path);
	path = xasprintf("/proc/%s/exe", pid); /* also when the program's file was deleted */
	if (is_same_file(path, m))
		return path;
	free(path);
	/*
	 * Some file systems report another device in maps than in stat: then the program itself at
	 * least.
	 */
	return NULL;
}

static void look_at(struct checkup *c, const char *pid, const struct mapping *m)
{
	struct err e = ERR_INIT;
	struct subject s = { 0 };
	char *path = open_path(pid, m);

	if (!path)
		err_set(&e, ERR_SYS, "%s is not the file any more that was loaded", m->path);
	if (!path || !subject_look(&s, path, m->path, c->use_cache, &e)) {
		if (!c->nr_unreadable++)
			snprintf(c->unreadable, sizeof(c->unreadable), "%s", e.msg);
	} else if (s.d->nr_runtimes) {
		vec_push(&c->subjects, s);
	} else {
		c->nr_without++;
		discovery_free(s.d);
	}
	free(path);
}

static int read_maps(const char *pid, struct strbuf *maps, struct err *e)
{
	char *path = xasprintf("/proc/%s/maps", pid);
	int rc = io_read_file(path, maps, MAX_MAPS, e), failure = errno;

	free(path);
	if (rc == 0)
		return 0;
	if (failure == ENOENT || failure == ESRCH)
		return err_set(e, ERR_NO_PROCESS, "there is no process %s", pid);
	if (failure == EACCES || failure == EPERM)
		return err_set(e, ERR_PERMISSION, "may not look at process %s: %s", pid,
			       geteuid() ? "run futrace as its user, or as root"
					 : "root lacks CAP_SYS_PTRACE here, as in most containers");
	return rc;
}

int checkup_process(struct checkup *c, const char *pid, struct err *e)
{
	struct strbuf maps = STRBUF_INIT;
	struct mapping m, last = { 0 };

	if (strlen(pid) > 10 || read_maps(pid, &maps, e) < 0) {
		if (strlen(pid) > 10)
			err_set(e, ERR_NO_PROCESS, "there is no process %s", pid);
		strbuf_release(&maps);
		return -1;
	}
	c->pid = strtoul(pid, NULL, 10);
	for (const char *line = maps.s; *line;) {
		const char *end = strchr(line, '\n');

		if (parse_mapping(line, &m) &&
		    (m.inode != last.inode || m.minor != last.minor || m.major != last.major)) {
			look_at(c, pid, &m);
			last = m;
		}
		if (!end)
			break;
		line = end + 1;
	}
	if (!maps.len)
		err_set(e, ERR_NO_PROCESS, "process %s has no memory: a kernel thread or a zombie",
			pid);
	strbuf_release(&maps);
	return c->subjects.nr || c->nr_without || c->nr_unreadable ? 0 : -1;
}

void checkup_summary(const struct checkup *c, struct strbuf *out)
{
	if (!c->pid)
		return;
	if (!c->subjects.nr)
		strbuf_addf(out,
			    "process %u: no async runtime that futrace knows: nothing to record\n",
			    c->pid);
	strbuf_addf(out, "%s%u other mapped file%s without an async runtime\n",
		    c->subjects.nr ? "" : "  ", c->nr_without, c->nr_without == 1 ? "" : "s");
	if (c->nr_unreadable) {
		strbuf_addf(out, "%u mapped file%s could not be looked at: ", c->nr_unreadable,
			    c->nr_unreadable == 1 ? "" : "s");
		strbuf_add_clean(out, c->unreadable, strlen(c->unreadable));
		strbuf_addch(out, '\n');
	}
	if (c->subjects.nr)
		strbuf_addstr(
			out,
			"A running process cannot be recorded yet: use `futrace record -- CMD`.\n");
}

void checkup_release(struct checkup *c)
{
	vec_each (s, &c->subjects)
		discovery_free(s->d);
	vec_release(&c->subjects);
}
