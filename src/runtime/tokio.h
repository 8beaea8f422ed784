// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Shared by tokio.c (tables, by structure), tokio_old.c (older tables, by symbols), tokio_names.c
 * (their types, by debug info or v0 symbols) and tokio_legacy.c (their types, by what the slots of
 * a table call).
 */
#ifndef RUNTIME_TOKIO_H
#define RUNTIME_TOKIO_H

#include "runtime/runtime.h"

/* The functions of a table from 1.23 on, in their order. Which slot is which its plan says. */
enum {
	TOKIO_POLL,
	TOKIO_SCHEDULE,
	TOKIO_DEALLOC,
	TOKIO_DROP_JOIN_HANDLE = 4,
	TOKIO_SHUTDOWN = 6,
	TOKIO_NR_CODE = 7,
};

/*
 * tokio_old.c: adds the tables of Tokio before 1.23. versions: those that the file shows;
 * has_others: it has tables of later ones. Returns what is to be said of them ("": nothing), or
 * NULL when there are none.
 */
const char *tokio_old_recognise(struct finding *f, const char *versions, bool has_others,
				struct found_runtime *r);
/* Splits versions; where there is none on one side, that is not changed. */
void tokio_old_versions(struct finding *f, const char *versions, const char **older,
			const char **newer);
/* A table of Tokio before 1.23. */
static inline bool tokio_is_old(const struct found_table *t)
{
	return t->plan.slot_schedule == WIRE_NO_SLOT;
}

/* The address of its schedule; there is one from 1.23 on. */
static inline uint64_t tokio_schedule(const struct found_table *t)
{
	return t->plan.words[t->plan.slot_schedule];
}

/* Does the function in this slot depend on the future's type? schedule does not. */
bool tokio_is_typed(const struct found_table *t, unsigned slot);

void tokio_give_names(struct finding *f);
void tokio_find_roots(struct finding *f);
void tokio_judge(struct finding *f, const struct discovery *d, const struct found_runtime *r,
		 struct found_fact facts[NR_FACTS]);

extern const struct task_shape tokio_task_shape;
extern const struct leaf_rules tokio_leaves;

extern const char tokio_blocking_task[]; /* how the type of a blocking closure begins */
/* The type without what Tokio wraps around, readable. To be freed. */
char *tokio_readable_type(const char *type, size_t len);
/* Its feature `tracing` puts each blocking closure into a span: the type without that. */
struct span tokio_without_span(struct span type);
/* Sets scheduler and kind from the type S; an unknown S changes nothing. */
void tokio_set_scheduler(struct found_table *t, const char *scheduler, size_t len);

/*
 * Code of the scheduler itself that runs on its blocking threads, so nothing that a user would call
 * a task.
 */
bool tokio_is_helper(const char *name);
/* Names those tables that have no name yet. */
void tokio_legacy_names(struct finding *f);

#endif
