// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The agent tells runtimes and LocalSets apart by the addresses of their schedulers and by the
 * numbers that Tokio gives them; a file numbers them, and defines each, and again when
 * more is known of it.
 */
#ifndef CAPTURE_INSTANCES_H
#define CAPTURE_INSTANCES_H

#include "base/map.h"
#include "runtime/known.h"
#include "trace/writer.h"

struct instances {
	struct map numbers; /* address and owner -> number, and what was told of it */
	const struct known_runtime *known; /* how schedulers are called that events tell; or NULL */
};

void instances_release(struct instances *in);
/* A runtime that the process has. */
void instances_know(struct instances *in, const struct known_runtime *k);
/* Puts the number into an instance event that came from a ring. root: what its thread told last of
 * a root future, 0 at first. */
void instances_number(struct instances *in, struct trace_writer *w, struct event *ev,
		      uint64_t *root);

#endif
