// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tracks of single tasks, for timelines: what each did at any time, as slices named after its
 * states, and around them the futures that it was in. A driver: the format writes what it is told.
 *
 * A future is there from the end of the run in which it was first seen to the end of the one in
 * which it was last: where in those runs it began and ended is not known.
 *
 * The tracks of *dense* tasks, those with very many polls, would be most of the file, and nobody
 * could see the slices: states of them that are shorter than a small part of the time are put
 * together with those beside them, as one slice that tells their sums, and they have no futures.
 */
#ifndef EXPORT_TRACKS_H
#define EXPORT_TRACKS_H

#include "export/chosen.h"
#include "export/trunks.h"

/* States of a task one after the other, as one slice. */
struct track_states {
	uint64_t start_ns;
	uint64_t ns[MODEL_NR_STATES];
	uint64_t nr, nr_runs;
	enum model_state state; /* the rest is of the first; all there is, when nr is 1 */
	bool is_drop;
	uint32_t thread; /* MODEL_NO_THREAD: on none */
	uint32_t path;	 /* where it waits; MODEL_NO_PATH: not known, or it runs */
};

struct tracks_ops {
	void (*track)(void *arg, const struct model_task *task, uint32_t track, unsigned rank);
	/* Slices of a track nest, and come in the order of time. */
	void (*states)(void *arg, uint32_t track, const struct track_states *s, uint64_t end_ns);
	void (*enter)(void *arg, uint32_t track, uint32_t step, uint64_t time_ns);
	void (*leave)(void *arg, uint32_t track, uint64_t time_ns);
};

struct track {
	bool has_begun;
	uint64_t brief_ns; /* states shorter than this are put together; 0: none */
	uint64_t last_ns;  /* known up to here */
	uint64_t drawn_ns[MODEL_NR_STATES];
	struct track_states states; /* not drawn yet */
	VEC(uint32_t) inside;	    /* steps of the futures that it is in */
};

struct tracks {
	const struct recording *rec;
	const struct chosen *chosen;
	const struct trunks *trunks;
	const struct tracks_ops *ops;
	void *arg;
	uint64_t span_ns;	     /* of what is drawn */
	bool is_full;		     /* the format sets it: no more may be written */
	VEC(uint32_t) track_of_slot; /* number in v + 1; 0: none */
	VEC(struct track) v;
};

extern const struct model_ops tracks_model_ops; /* of a struct tracks */
/* After the pass: a helper that was only recognised later has no end, and may be in futures still.
 */
void tracks_finish(struct tracks *t);
void tracks_release(struct tracks *t);

#endif
