// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the steps of a trace mean to people. A step is a future of one task's tree, at one of its
 * awaits. Seen from the source, many of them are one thing:
 *
 *	await point	a line of a future: all steps of that future that wait there
 *	future		a type of future, wherever it stands
 *	node		a future that one of the tree awaits at one of its lines; it stays the same
 *			while it goes from one await of its own to the next
 *
 * The *seat* of a branch is the await point that its wait belongs to: the innermost line of the
 * program's own, or else the innermost of all.
 */
#ifndef MODEL_STEPS_H
#define MODEL_STEPS_H

#include "base/strbuf.h"
#include "trace/trace.h"

#define STEPS_NONE	UINT32_MAX
#define STEPS_MAX_DEPTH 1024

struct steps {
	const struct trace_step *v; /* of the trace */
	uint32_t nr;
	/* By step. */
	uint32_t *point_of; /* STEPS_NONE: it waits at no known line */
	uint32_t *future_of;
	uint32_t *node_of;
	uint32_t
		*seat_of; /* of a branch that ends with it, a point; STEPS_NONE: it waits nowhere */
	uint32_t *outer;  /* as the trace has it, but no chain is longer than STEPS_MAX_DEPTH */
	uint32_t *depth;  /* how many steps are around it */
	/* A step of each, for its names. */
	uint32_t *points, *futures, *nodes;
	uint32_t nr_points, nr_futures, nr_nodes;
};

/* v is borrowed and outlives it. A step's outer one has a lower number. */
void steps_init(struct steps *s, const struct trace_step *v, uint32_t nr);
void steps_release(struct steps *s);

/*
 * Of steps that lie one in the other, outermost first, the task's own future: what runtimes wrap
 * around it does not count.
 */
uint32_t steps_find_own(const struct steps *s, const uint32_t *chain, uint32_t nr);

/*
 * The steps of a path that all its branches have in common, outermost first: up to where it forks,
 * or all of them when there is one branch. If any of its futures waits, others do not count. At
 * most `max` are given: the outermost.
 */
uint32_t steps_get_trunk(const struct steps *s, const struct trace_path *p, uint32_t *trunk,
			 uint32_t max);

/* The seats of paths, each once: those of path i lie from first[i] up to first[i + 1]. */
struct path_seats {
	uint32_t *v, *first;
};
void path_seats_init(struct path_seats *seats, const struct steps *s,
		     const struct trace_path *paths, uint32_t nr);
void path_seats_release(struct path_seats *seats);

/* It has begun and is not over; at its leaf the wait may be. */
static inline bool step_waits(const struct trace_step *s)
{
	return s->state == TRACE_STEP_WAITS || s->state == TRACE_STEP_READY;
}

/* What people call the future: the function whose body it is, or its type. "" when unknown. */
static inline const char *step_name(const struct trace_step *s)
{
	return s->function[0] ? s->function : s->future;
}

const char *step_state_name(enum trace_step_state state); /* "not_started" */
/* "src/main.rs:10", in a macro "src/main.rs:10-14"; nothing when it is not known. Not cleaned. */
void step_add_place(struct strbuf *out, const struct trace_step *s);
/* The same as shorten_place() does it. */
void step_shorten_place(struct strbuf *out, const struct trace_step *s, size_t width);

#endif
