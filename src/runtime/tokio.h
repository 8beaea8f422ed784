// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Shared by tokio.c (tables, by structure), tokio_names.c (their types, by debug info or v0
 * symbols) and tokio_legacy.c (their types, by what the slots of a table call).
 */
#ifndef RUNTIME_TOKIO_H
#define RUNTIME_TOKIO_H

#include "runtime/runtime.h"

enum { TOKIO_POLL, TOKIO_SCHEDULE, TOKIO_DEALLOC, TOKIO_SHUTDOWN = 6, TOKIO_NR_CODE = 7 };

void tokio_give_names(struct finding *f);

/* Sets name and kind of a table from the type T as some source spells it. */
void tokio_set_type(struct finding *f, struct found_table *t, const char *type, size_t len);
extern const char tokio_blocking_task[]; /* how the type of a blocking closure begins */
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
