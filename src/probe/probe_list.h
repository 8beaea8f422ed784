// SPDX-License-Identifier: MIT OR Apache-2.0
/* Probes, and those of them that fit a pattern. */
#ifndef PROBE_PROBE_LIST_H
#define PROBE_PROBE_LIST_H

#include "probe/pattern.h"

struct list_row {
	uint32_t id; /* counted over all probes, so that it does not depend on what was asked for */
	const struct probe_home *home;
	const struct probe *probe;
};

struct probe_list {
	struct probes probes;
	VEC(struct list_row) rows;
};

/* Adds a row for each probe that fits. */
void probe_list_choose(struct probe_list *l, const struct probe_patterns *patterns);
void probe_list_release(struct probe_list *l);

#endif
