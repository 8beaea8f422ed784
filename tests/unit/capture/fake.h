// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Stand-ins for what the capture side talks to: an agent in this very process, a trace file that is
 * a list of events in memory, and discoveries that the test makes up.
 */
#ifndef TESTS_CAPTURE_FAKE_H
#define TESTS_CAPTURE_FAKE_H

#include "unit.h"

#include "base/vec.h"
#include "capture/lobby.h"
#include "runtime/discover.h"
#include "trace/writer.h"

/* ---- the trace file ---- */

struct fake_event {
	uint32_t tid;
	struct event ev;
};

struct fake_file {
	VEC(struct fake_event) events;
	VEC(struct trace_type) types;
	VEC(struct trace_runtime) runtimes;
	VEC(struct trace_instance) instances;
	VEC(struct trace_future) futures;
	VEC(struct trace_object) objects;
	unsigned nr_threads, nr_open_streams, nr_anchors, nr_counts, nr_writers;
	bool is_closed, has_end;
	struct trace_end end;
	uint64_t bytes_per_event; /* so that the file grows */
	struct err error;	  /* set by a test: the disk is full */
};

extern struct fake_file fake_file; /* what the only writer has got */
void fake_file_reset(void);

/* ---- discovery ---- */

extern struct discovery *fake_discovery; /* what every file looks like; NULL: cannot be looked at */
extern unsigned fake_nr_discovered;
void fake_discovery_init(struct discovery *d, struct found_runtime *runtime,
			 struct found_table *tables, uint32_t nr_tables);

/* ---- the agent ---- */

struct fake_agent {
	struct lobby *lobby;
	uint32_t door;
	struct wire_region *region;
};

/* Takes the first free door as process pid. */
void fake_agent_init(struct fake_agent *a, struct lobby *l, uint32_t pid);
void fake_agent_release(struct fake_agent *a);
/* Claims a slot for a thread. */
struct wire_thread *fake_thread(struct fake_agent *a, uint32_t slot, uint32_t tid);
void fake_thread_ends(struct wire_thread *t);
/* Writes one event; false, and counted as lost, when the ring is full. */
bool fake_put(struct fake_agent *a, struct wire_thread *t, const struct event *ev);
/* At most 64 raw words, whatever they mean, in one piece. False: no room. */
bool fake_words(struct fake_agent *a, struct wire_thread *t, const uint64_t *words, size_t nr);
void fake_announce(struct fake_agent *a, const char *path, uint64_t base);

#endif
