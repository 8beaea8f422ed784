// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waiting as stacks: a task's own future outermost, then who awaits whom, and what it waits for
 * innermost. It is what flame graphs of waiting are made of. Where a future waits for several at
 * once, each has an equal share, so that widths add up.
 */
#ifndef EXPORT_WAITS_H
#define EXPORT_WAITS_H

#include "analyze/by_path.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "export/export.h"

#define WAITS_ROOT UINT32_MAX /* what outermost frames are in */

struct waits_frame {
	uint32_t outer; /* a lower number than its own, or WAITS_ROOT */
	uint32_t step;	/* of the trace; TRACE_NO_STEP: nobody knows where */
	uint64_t ns;	/* idle and scheduled right here, not further in */
	uint64_t nr;	/* waits; those with several branches count in the first */
};

struct waits {
	VEC(struct waits_frame) frames;
};

/* A read of the recording. job says which futures have frames. The model is the caller's to free.
 */
struct model *waits_read(struct waits *w, const struct export_job *job);
/* The same of sums that are there. */
void waits_init(struct waits *w, const struct export_job *job, const struct by_path *paths);
void waits_release(struct waits *w);

/* Appends how a step is called in a stack: "shop::cart::update src/cart.rs:31", "sleep". */
void waits_add_label(struct strbuf *out, const struct recording *rec, uint32_t step);

#endif
