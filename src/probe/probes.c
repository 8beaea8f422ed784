// SPDX-License-Identifier: MIT OR Apache-2.0
#include "probe/probes.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "memory/memory.h"

void probes_init(struct probes *p)
{
	*p = (struct probes){ .texts = intern_new() };
}

void probes_release(struct probes *p)
{
	vec_each (h, &p->homes)
		free(h->values);
	vec_each (f, &p->files)
		probe_file_free(*f);
	vec_release(&p->homes);
	vec_release(&p->files);
	intern_free(p->texts);
}

/* The file, which may have been read already. */
static struct probe_file *get_file(struct probes *p, const char *path, const char *shown,
				   struct err *e)
{
	struct probe_file *f;
	struct stat st;

	if (stat(path, &st) == 0)
		vec_each (known, &p->files)
			if ((*known)->inode == st.st_ino && (*known)->dev == st.st_dev &&
			    strcmp((*known)->path, shown) == 0)
				return *known;
	f = probe_file_new(path, shown, p->texts, e);
	if (f) {
		vec_push(&p->files, f);
		p->nr_broken += f->nr_broken;
	}
	return f;
}

int probes_add_file(struct probes *p, const char *path, struct err *e)
{
	struct probe_file *f = get_file(p, path, path, e);

	if (!f)
		return -1;
	if (f->probes.nr)
		vec_push(&p->homes, (struct probe_home){ .file = f });
	return 0;
}

/* ---- processes ---- */

static int32_t *read_values(struct memory *m, const struct probe_file *f, uint64_t base)
{
	struct memory_piece *pieces = xcalloc(f->sites.nr, sizeof(*pieces));
	uint16_t *counts = xcalloc(f->sites.nr, sizeof(*counts));
	int32_t *values = xcalloc(f->sites.nr, sizeof(*values));

	for (size_t i = 0; i < f->sites.nr; i++)
		pieces[i] = (struct memory_piece){ .addr = base + f->sites.v[i].semaphore_va,
						   .into = &counts[i],
						   .len = sizeof(*counts) };
	memory_read_pieces(m, pieces, f->sites.nr);
	for (size_t i = 0; i < f->sites.nr; i++)
		values[i] = f->sites.v[i].semaphore_va && pieces[i].was_read ? counts[i]
									     : PROBE_NO_VALUE;
	free(pieces);
	free(counts);
	return values;
}

static void add_mapped(struct probes *p, struct memory *m, const struct memory_file *mapped,
		       bool values)
{
	struct err e = ERR_INIT;
	char *path = memory_path_of(m, mapped, &e);
	struct probe_file *f = path ? get_file(p, path, mapped->path, &e) : NULL;

	/* fonts and the like may be mapped executable, too */
	if (!f && e.tag != ERR_NOT_ELF && !p->nr_unreadable++)
		p->unreadable = e;
	if (f && f->probes.nr) {
		struct probe_home home = { .file = f, .pid = m->pid };

		home.base = mapped->addr - f->first_va;
		if (values)
			home.values = read_values(m, f, home.base);
		vec_push(&p->homes, home);
	}
	free(path);
}

/* Is there a process of that number that has the same program mapped at the same place? */
static bool is_same_program(const struct memory *before)
{
	struct memory *now = memory_open_map(before->pid, NULL);
	bool is_same = now && now->files.nr && before->files.nr &&
		       now->files.v[0].addr == before->files.v[0].addr &&
		       now->files.v[0].inode == before->files.v[0].inode;

	memory_close(now);
	return is_same;
}

int probes_add_process(struct probes *p, uint32_t pid, bool values, struct err *e)
{
	/* The map of a process may be readable though its memory is not. */
	struct memory *m = values ? memory_open_process(pid, NULL) : NULL;
	bool can_read = m;
	size_t nr_homes = p->homes.nr;
	uint32_t nr_unreadable = p->nr_unreadable;
	int rc = 0;

	if (!m)
		m = memory_open_map(pid, e);
	if (!m)
		return -1;
	for (int of_program = 1; of_program >= 0; of_program--)
		vec_each (f, &m->files)
			if ((strcmp(f->path, m->exe) == 0) == of_program && memory_is_object(m, f))
				add_mapped(p, m, f, can_read);
	if (!is_same_program(m)) {
		while (p->homes.nr > nr_homes)
			free(p->homes.v[--p->homes.nr].values);
		p->nr_unreadable = nr_unreadable; /* nothing can be read of what is gone */
		rc = err_set(e, ERR_NO_PROCESS,
			     "process %u ended, or began another program, while it was read", pid);
	}
	memory_close(m);
	return rc;
}

int probes_add_all(struct probes *p, bool values, struct err *e)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir || !io_has_proc()) {
		if (dir)
			closedir(dir);
		return err_set(e, ERR_SYS, "cannot list processes: " ERR_TEXT_NO_PROC);
	}
	while ((entry = readdir(dir))) {
		struct err why = ERR_INIT;
		uint32_t pid = strtoul(entry->d_name, NULL, 10);

		if (!pid || probes_add_process(p, pid, values, &why) == 0)
			continue;
		/* kernel threads have no memory, and others come and go */
		if (why.tag != ERR_NO_PROCESS && !p->nr_denied++)
			p->denied = why;
	}
	closedir(dir);
	return 0;
}
