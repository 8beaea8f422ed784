// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A bar on stderr for what takes longer than a moment, on a terminal only. It is erased when the
 * work is done, so that nothing of it stays.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include "base/util.h"

struct progress {
	bool is_wanted;
	bool has_bar;
	uint64_t begin_ns, shown_ns;
};

void progress_init(struct progress *p, bool is_quiet);
/* Both fit a recording_view; arg is the struct progress. */
void progress_show(void *arg, uint64_t done, uint64_t all);
void progress_erase(void *arg);

#endif
