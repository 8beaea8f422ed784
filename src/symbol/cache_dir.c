// SPDX-License-Identifier: MIT OR Apache-2.0
/* Walks the path one component at a time, from the root, and checks each before it is used. */
#include "symbol/cache_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

#define MAX_LINKS 40 /* as many as the kernel follows */

struct walk {
	int dir;	    /* the folder reached so far; -1: the walk has failed */
	struct strbuf rest; /* the components still to go */
	unsigned nr_links;
	bool create;
};

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Distributions that give each user a group of the same number create folders writable by it. */
static bool is_own_group(gid_t gid)
{
	return gid == 0 || (gid == getegid() && gid == geteuid());
}

/* Can nobody but us and root replace what is in it? In a sticky folder only its owner can. */
static bool is_safe(const struct stat *st)
{
	bool others = st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && !is_own_group(st->st_gid));

	return is_ours(st) && (!others || st->st_mode & S_ISVTX);
}

static void move_to(struct walk *w, int dir)
{
	struct stat st;

	if (w->dir >= 0)
		close(w->dir);
	w->dir = dir;
	if (dir >= 0 && (fstat(dir, &st) || !is_safe(&st))) {
		close(dir);
		w->dir = -1;
	}
}

static void start_at_root(struct walk *w)
{
	move_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static void follow(struct walk *w, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(w->dir, name, target, sizeof(target) - 1);
	struct strbuf rest = STRBUF_INIT;

	if (len <= 0 || !is_ours(st) || ++w->nr_links > MAX_LINKS) {
		move_to(w, -1);
		return;
	}
	target[len] = '\0';
	strbuf_addf(&rest, "%s/%s", target, w->rest.s);
	strbuf_release(&w->rest);
	w->rest = rest;
	if (*target == '/')
		start_at_root(w);
}

static void enter(struct walk *w, const char *name)
{
	struct stat st;
	bool is_new = false;
	int dir;

	if (w->create && mkdirat(w->dir, name, 0700) == 0)
		is_new = true;
	if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		move_to(w, -1);
		return;
	}
	if (S_ISLNK(st.st_mode)) {
		follow(w, name, &st);
		return;
	}
	if (is_new && fchmodat(w->dir, name, 0700, 0)) { /* whatever the umask says */
		move_to(w, -1);
		return;
	}
	dir = openat(w->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	move_to(w, dir);
}

/* The next component, to be freed; NULL: that was all. */
static char *take_name(struct walk *w)
{
	const char *s = w->rest.s + strspn(w->rest.s, "/");
	size_t len = strcspn(s, "/");
	char *name = len ? xstrndup(s, len) : NULL;
	struct strbuf rest = STRBUF_INIT;

	strbuf_addstr(&rest, s + len);
	strbuf_release(&w->rest);
	w->rest = rest;
	return name;
}

static bool is_private(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

int cache_dir_open(const char *path, bool create)
{
	struct walk w = { .dir = -1, .rest = STRBUF_INIT, .create = create };
	int dir = -1;
	char *name;

	if (*path != '/')
		return -1;
	strbuf_addstr(&w.rest, path);
	start_at_root(&w);
	while (w.dir >= 0 && (name = take_name(&w))) {
		enter(&w, name);
		free(name);
	}
	strbuf_release(&w.rest);
	/* Until here a descriptor that cannot be read: a folder on the way may be closed to us. */
	if (w.dir >= 0 && is_private(w.dir))
		dir = openat(w.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w.dir >= 0)
		close(w.dir);
	return dir;
}
