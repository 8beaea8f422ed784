// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/checkup.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/opts.h"
#include "memory/memory.h"

bool subject_look(struct subject *s, const char *path, const char *shown, const char *cache_dir,
		  struct err *e)
{
	struct discover_opts opts = { .names = true, .allocator = true, .cache_dir = cache_dir };
	struct stat st;

	s->d = discover_file(path, shown, &opts, e);
	if (!s->d)
		return false;
	s->is_privileged = stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID);
	s->is_privileged |= getxattr(path, "security.capability", NULL, 0) > 0;
	return true;
}

void subject_look_futures(struct subject *s, const char *path)
{
	static const struct futures_wanted own;
	const struct discover_opts opts = { .futures = &own };
	struct err e = ERR_INIT;

	/* apart from the rest: tables of futures are none of tasks */
	s->with_futures = s->d->nr_tables ? discover_file(path, NULL, &opts, &e) : NULL;
}

bool subject_has_use(const struct subject *s)
{
	for (uint32_t i = 0; i < s->d->nr_runtimes; i++)
		if (discovery_has_use_of(s->d, i))
			return true;
	return false;
}

static void look_at(struct checkup *c, struct memory *m, const struct memory_file *f)
{
	struct err e = ERR_INIT;
	struct subject s = { 0 };
	char *path = memory_path_of(m, f, &e);

	if (!path || !subject_look(&s, path, f->path, c->cache_dir, &e)) {
		if (!c->nr_unreadable++)
			snprintf(c->unreadable, sizeof(c->unreadable), "%s", e.msg);
	} else if (s.d->nr_runtimes) {
		subject_look_futures(&s, path);
		vec_push(&c->subjects, s);
	} else {
		c->nr_without++;
		discovery_free(s.d);
	}
	free(path);
}

int checkup_process(struct checkup *c, const char *pid, struct err *e)
{
	struct memory *m;

	if (parse_pid(pid, &c->pid))
		return err_set(e, ERR_NO_PROCESS, "there is no process %s", pid);
	m = memory_open_map(c->pid, e);
	if (!m)
		return -1;
	vec_each (f, &m->files)
		if (memory_is_object(m, f))
			look_at(c, m, f);
	memory_close(m);
	return 0;
}

void checkup_release(struct checkup *c)
{
	vec_each (s, &c->subjects) {
		discovery_free(s->d);
		discovery_free(s->with_futures);
	}
	vec_release(&c->subjects);
}
