// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/catalog.h"

#include <errno.h>
#include <sys/stat.h>

struct catalog_entry {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	struct discovery *d; /* NULL: e says why */
	struct err e;
};

void catalog_init(struct catalog *c, const struct discover_opts *opts)
{
	*c = (struct catalog){ .opts = *opts };
}

void catalog_release(struct catalog *c)
{
	vec_each (x, &c->entries)
		discovery_free(x->d);
	vec_release(&c->entries);
}

static bool is_same(const struct catalog_entry *x, const struct stat *st)
{
	return x->dev == st->st_dev && x->ino == st->st_ino && x->size == st->st_size &&
	       x->mtime.tv_sec == st->st_mtim.tv_sec && x->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

const struct discovery *catalog_get(struct catalog *c, const char *path, const char *shown_path,
				    struct err *e)
{
	struct catalog_entry new = { 0 };
	struct stat st;

	if (stat(path, &st)) {
		err_sys(e, "cannot look at %s", shown_path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_NOT_ELF, "%s is no regular file", shown_path);
		return NULL;
	}
	vec_each (x, &c->entries) {
		if (!is_same(x, &st))
			continue;
		if (!x->d && e)
			*e = x->e;
		return x->d;
	}
	new = (struct catalog_entry){ st.st_dev, st.st_ino, st.st_size, st.st_mtim };
	new.d = discover_file(path, shown_path, &c->opts, &new.e);
	vec_push(&c->entries, new);
	if (!new.d && e)
		*e = new.e;
	return new.d;
}
