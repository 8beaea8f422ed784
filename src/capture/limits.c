// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/limits.h"

static void raise_limit(int which, struct rlimit *before)
{
	struct rlimit own;

	getrlimit(which, before);
	own = *before;
	own.rlim_cur = own.rlim_max;
	setrlimit(which, &own);
}

void limits_raise(struct limits *before)
{
	raise_limit(RLIMIT_NOFILE, &before->files);
	raise_limit(RLIMIT_FSIZE, &before->file_bytes);
}

void limits_restore(const struct limits *before)
{
	setrlimit(RLIMIT_NOFILE, &before->files);
	setrlimit(RLIMIT_FSIZE, &before->file_bytes);
}
