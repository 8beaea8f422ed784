// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS UINT64_C(500000000) /* what is done by then needs no bar */
#define REFRESH_NS  UINT64_C(100000000)
#define BAR_COLUMNS 40

void progress_init(struct progress *p, bool is_quiet)
{
	const char *term = getenv("TERM");

	*p = (struct progress){ .begin_ns = clock_mono_ns() };
	p->is_wanted = !is_quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void progress_show(void *arg, uint64_t done, uint64_t all)
{
	static const char full[] = "########################################";
	struct progress *p = arg;
	uint64_t now = p->is_wanted ? clock_mono_ns() : 0;
	double share = all && done < all ? (double)done / (double)all : 1;

	if (!p->is_wanted || now < p->begin_ns + PATIENCE_NS || now < p->shown_ns + REFRESH_NS)
		return;
	fprintf(stderr, "\r[%-*.*s] %3.0f%% %.1f M events\033[K", BAR_COLUMNS,
		(int)(share * BAR_COLUMNS), full, share * 100, done / 1e6);
	p->shown_ns = now;
	p->has_bar = true;
}

void progress_erase(void *arg)
{
	struct progress *p = arg;

	if (p->has_bar)
		fprintf(stderr, "\r\033[K");
	p->has_bar = false;
}
