// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which probes are meant, as DTrace takes it: provider:module:function:name. An empty part fits
 * everything, parts may be patterns of a shell (* ? [a-z]), and what is left out is left out in
 * front: "task-*" is a name, "f:task-*" a function and a name. Several descriptions stand between
 * commas.
 *
 * A provider is called by its name and process id, "tokio4711"; $target stands for the id. The name
 * alone will do as well.
 */
#ifndef PROBE_PATTERN_H
#define PROBE_PATTERN_H

#include "probe/probes.h"

struct probe_patterns {
	VEC(char **) list; /* of four parts each */
};

/* ERR_USAGE. */
int probe_patterns_add(struct probe_patterns *p, const char *text, struct err *e);
void probe_patterns_release(struct probe_patterns *p);
/* None fits all. */
bool probe_patterns_fit(const struct probe_patterns *p, const struct probe_home *home,
			const struct probe *probe);

#endif
