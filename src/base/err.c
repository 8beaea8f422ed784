// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ROOM 200 /* for the reason, however long a name is */

int err_set(struct err *e, enum err_tag tag, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	e->tag = tag;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	struct rlimit files;
	int saved = errno;
	va_list ap;
	size_t len;

	if (!e)
		return -1;
	e->tag = saved == EACCES || saved == EPERM ? ERR_PERMISSION : ERR_SYS;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg) - ROOM, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof(e->msg) - len, ": %s", strerror(saved));
	if (saved == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0) {
		len = strlen(e->msg);
		snprintf(e->msg + len, sizeof(e->msg) - len,
			 "; the limit is %llu, which 'ulimit -n' can raise",
			 (unsigned long long)files.rlim_cur);
	}
	errno = saved;
	return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char rest[sizeof(e->msg)];
	va_list ap;
	size_t len;

	if (!e)
		return -1;
	memcpy(rest, e->msg, sizeof(rest));
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof(e->msg) - len, ": %.900s", rest);
	return -1;
}
