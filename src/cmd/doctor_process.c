// SPDX-License-Identifier: MIT OR Apache-2.0
/* The files of a process. */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/opts.h"
#include "cmd/doctor.h"
#include "memory/memory.h"

static void look_at(struct checkup *c, struct memory *m, const struct memory_file *f)
{
	struct err e = ERR_INIT;
	struct subject s = { 0 };
	char *path = memory_path_of(m, f, &e);

	if (!path || !subject_look(&s, path, f->path, c->use_cache, &e)) {
		if (!c->nr_unreadable++)
			snprintf(c->unreadable, sizeof(c->unreadable), "%s", e.msg);
	} else if (s.d->nr_runtimes) {
		futures_look(&s, path);
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

void checkup_summary(const struct checkup *c, struct strbuf *out)
{
	if (!c->pid)
		return;
	if (!c->subjects.nr)
		strbuf_addf(out,
			    "process %u: no async runtime that futrace knows: nothing to record\n",
			    c->pid);
	strbuf_addf(out, "%s%u other mapped file%s without an async runtime\n",
		    c->subjects.nr ? "" : "  ", c->nr_without, plural(c->nr_without));
	if (c->nr_unreadable) {
		strbuf_addf(out, "%u mapped file%s could not be looked at: ", c->nr_unreadable,
			    plural(c->nr_unreadable));
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
	vec_each (s, &c->subjects) {
		discovery_free(s->d);
		discovery_free(s->with_futures);
	}
	vec_release(&c->subjects);
}
