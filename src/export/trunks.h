// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What timelines show of paths: the futures that lie one in the other, from the task's own, which
 * is not among them, down to the leaf or to where the path forks; and in a few words what is waited
 * for.
 */
#ifndef EXPORT_TRUNKS_H
#define EXPORT_TRUNKS_H

#include "export/export.h"
#include "export/safe_names.h"
#include "model/future_kinds.h"

/* A step of the way to where the path ends or forks, shown or not. */
struct trunk_step {
	uint32_t step;
	uint32_t nr_shown; /* of the steps up to it, with itself */
};

struct trunks {
	const struct recording *rec;
	/* Those of path i, the task's own future first: from first[i] up to first[i + 1]. */
	uint32_t *steps, *first;
	/* All steps of path i: from first_way[i] up to first_way[i + 1]. */
	struct trunk_step *ways;
	uint32_t *first_way;
	uint32_t longest;
	struct future_kinds kinds;
	const bool *shown;    /* by number of the trace's future: its polls are; NULL: all are */
	struct names futures; /* by kind of future */
	struct names waits;   /* by path: "mutex at src/cart.rs:31"; where it forks "… | …" */
};

struct trunk {
	const uint32_t *steps;
	uint32_t nr;
};

void trunks_init(struct trunks *t, const struct export_job *job, names_escape *escape);
void trunks_release(struct trunks *t);
/* Appends what is waited for at a path of the recording, in a few words, safe for a terminal. */
void trunks_add_waits(const struct recording *rec, uint32_t path, struct strbuf *out);

/*
 * In a task of that type. A task's own future is the task; what block_on was given has a name of
 * its own.
 */
static inline struct trunk trunks_get(const struct trunks *t, uint32_t path, uint16_t type)
{
	struct trunk trunk = { 0 };

	if (path >= t->rec->nr_paths)
		return trunk;
	trunk = (struct trunk){ t->steps + t->first[path], t->first[path + 1] - t->first[path] };
	if (trunk.nr && t->rec->groups[recording_group_of(t->rec, type)].kind != TRACE_BLOCK_ON) {
		trunk.steps++;
		trunk.nr--;
	}
	return trunk;
}

/* Are polls of that future of the trace shown? */
static inline bool trunks_show(const struct trunks *t, uint32_t future)
{
	return future < t->rec->nr_futures && (!t->shown || t->shown[future]);
}

#endif
