// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/replace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

static const int deadly[] = { SIGHUP, SIGINT, SIGTERM };

/* What must not stay behind when a signal ends us. */
static const char *volatile doomed;

static void clean_up(int sig)
{
	if (doomed)
		unlink(doomed);
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

int replace_open(struct replace *r, const char *path, struct err *e)
{
	struct stat st;
	char *real;

	*r = (struct replace){ .fd = -1 };
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		r->path = xstrdup(path);
		r->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		/* a link stays one */
		real = realpath(path, NULL);
		r->path = real ? real : xstrdup(path);
		r->temporary = xasprintf("%s.XXXXXX", r->path);
		r->fd = mkostemp(r->temporary, O_CLOEXEC);
		if (r->fd >= 0)
			arm(r->temporary);
	}
	if (r->fd >= 0)
		return 0;
	err_sys(e, "cannot create %s", path);
	free(r->path);
	free(r->temporary);
	return -1;
}

int replace_close(struct replace *r, bool is_good, struct err *e)
{
	int rc = is_good ? 0 : -1;

	if (close(r->fd) && !rc)
		rc = err_sys(e, "cannot write %s", r->path);
	if (r->temporary) {
		if (!rc && rename(r->temporary, r->path))
			rc = err_sys(e, "cannot write %s", r->path);
		if (rc)
			unlink(r->temporary);
		disarm();
	}
	free(r->path);
	free(r->temporary);
	return rc;
}
