// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The agent tells runtimes and LocalSets apart by the addresses of their schedulers and by the
 * numbers that Tokio gives them; a file numbers them, and defines each once.
 */
#ifndef CAPTURE_INSTANCES_H
#define CAPTURE_INSTANCES_H

#include "base/map.h"
#include "trace/writer.h"

struct instances {
	struct map numbers; /* address and owner -> number */
};

void instances_release(struct instances *in);
/* Puts the number into an instance event that came from a ring. */
void instances_number(struct instances *in, struct trace_writer *w, struct event *ev);

#endif
