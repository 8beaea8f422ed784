// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/replace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

static const int deadly[] = { SIGHUP, SIGINT, SIGTERM };

/* What must not stay behind when a signal ends us. */
static const char *volatile doomed;

void replace_abandon(void)
{
	if (doomed)
		unlink(doomed);
}

static void clean_up(int sig)
{
	replace_abandon();
	raise(sig); /* SA_RESETHAND: this one ends us */
}

static void arm(const char *path)
{
	struct sigaction mine = { .sa_handler = clean_up, .sa_flags = SA_RESETHAND }, old;

	doomed = path;
	for (unsigned i = 0; i < ARRAY_SIZE(deadly); i++)
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &mine, NULL);
}

static void disarm(void)
{
	struct sigaction now;

	doomed = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(deadly); i++)
		if (sigaction(deadly[i], NULL, &now) == 0 && now.sa_handler == clean_up)
			sigaction(deadly[i], &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

/* The name is enough for calls relative to the folder; some formats need a path. */
static void set_temporary(struct replace *r, const char *name)
{
	r->temporary = xasprintf("%.*s%s", (int)(r->dest.name - r->dest.path), r->dest.path, name);
}

int replace_open(struct replace *r, const char *path, struct err *e)
{
	char *name;

	*r = (struct replace){ .fd = -1 };
	if (dest_open(&r->dest, path))
		return err_sys(e, "cannot create %s", path);
	if (r->dest.fd >= 0) {
		r->fd = r->dest.fd;
		r->dest.fd = -1;
		return 0;
	}
	r->fd = io_create_temporary_at(r->dest.dir, r->dest.name, 0600, &name);
	if (r->fd < 0) {
		err_sys(e, "cannot create %s", path);
		dest_close(&r->dest);
		return -1;
	}
	set_temporary(r, name);
	free(name);
	arm(r->temporary);
	return 0;
}

int replace_close(struct replace *r, bool is_good, struct err *e)
{
	int rc = is_good ? 0 : -1;

	if (close(r->fd) && !rc)
		rc = err_sys(e, "cannot write %s", r->dest.path);
	if (r->temporary) {
		if (!rc && renameat(AT_FDCWD, r->temporary, r->dest.dir, r->dest.name))
			rc = err_sys(e, "cannot write %s", r->dest.path);
		if (rc)
			unlink(r->temporary);
		disarm();
	}
	dest_close(&r->dest);
	free(r->temporary);
	return rc;
}
