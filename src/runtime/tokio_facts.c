// SPDX-License-Identifier: MIT OR Apache-2.0
/* What is seen of Tokio's tasks. docs/internals/exactness.md says why. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tokio.h"

/* Tasks have a cache line of their own since this release: that tells their memory from other. */
#define FIRST_ALIGNED_MINOR	  29
#define FIRST_ROOTS_MINOR	  29 /* functions that root futures pass through have their names */
#define FIRST_LOCAL_RUNTIME_MINOR 41

/* Minor versions of the oldest and the newest copy; one that is not known is taken for recent. */
static void minors(const char *versions, unsigned *oldest, unsigned *newest)
{
	const char *at = versions;
	unsigned minor;

	*oldest = UINT_MAX;
	*newest = 0;
	while (at && sscanf(at, "1.%u.", &minor) == 1) {
		*oldest = MIN(*oldest, minor);
		*newest = MAX(*newest, minor);
		at = strstr(at, " + ");
		at = at ? at + strlen(" + ") : NULL;
	}
	if (*oldest == UINT_MAX)
		*newest = UINT_MAX;
}

/* Of a table of this runtime, and its tables are all alike. */
static const struct wire_table *a_table(const struct discovery *d, const struct found_runtime *r)
{
	for (uint32_t i = 0; i < d->nr_tables; i++)
		if (d->tables[i].runtime == r - d->runtimes &&
		    d->tables[i].plan.kind == WIRE_TABLE_TOKIO)
			return &d->tables[i].plan;
	return NULL;
}

/* Older than 1.23: no schedule slot. */
static bool is_old(const struct wire_table *w)
{
	return w && w->slot_schedule == WIRE_NO_SLOT;
}

/* Can the function be redirected by which the allocator in the file gives tasks their memory? */
static bool is_alloc_seen(const struct discovery *d)
{
	for (uint32_t i = 0; i < d->nr_allocs; i++)
		if (strcmp(d->allocs[i].allocator, d->allocator) == 0)
			return true;
	return false;
}

static struct found_fact spawns(struct finding *f, const struct discovery *d,
				const struct wire_table *w, unsigned oldest)
{
	char *why;
	struct found_fact fact = { HOW_EXACT, "with parent" };

	if (*d->allocator && !is_alloc_seen(d)) {
		why = xasprintf("no parent: it contains %s, whose allocations are not seen",
				d->allocator);
		fact = (struct found_fact){ HOW_FIRST_SEEN, finding_string(f, why),
					    "build with `strip = false`, or with the "
					    "system's allocator" };
		free(why);
	} else if (is_old(w)) {
		fact = (struct found_fact){ HOW_FIRST_SEEN,
					    "no parent: before Tokio 1.29 a task's memory looks "
					    "like any other",
					    "use Tokio 1.29 or later" };
	} else if (oldest < FIRST_ALIGNED_MINOR) {
		fact = (struct found_fact){ HOW_SOME,
					    "most tasks begin when first seen, as before Tokio "
					    "1.29 their memory looks like any other",
					    "use Tokio 1.29 or later" };
	} else if (!*d->allocator && d->memory == MEMORY_OWN) {
		fact = (struct found_fact){ HOW_SOME,
					    "where the program's own allocator takes a task's "
					    "memory from libc, aligned as it was asked for; "
					    "else tasks begin when first seen",
					    "build with the system's allocator" };
	} else if (!*d->allocator && d->memory == MEMORY_UNKNOWN) {
		fact.text = "with parent, unless the program has an allocator of its own";
	} else if (*d->allocator) {
		why = xasprintf("with parent, by a redirected function of %s", d->allocator);
		fact.text = finding_string(f, why);
		free(why);
	}
	return fact;
}

static struct found_fact places(const struct discovery *d, const struct found_runtime *r,
				const struct found_fact *spawns)
{
	if (r->unstable)
		return (struct found_fact){ HOW_EXACT,
					    "as Tokio itself keeps them, of tasks that ran" };
	if (spawns->how == HOW_FIRST_SEEN)
		return (struct found_fact){ HOW_NOT, "spawns are not", spawns->remedy };
	if (d->rung < RUNG_LINES)
		return fact_no_lines(d);
	if (spawns->how == HOW_SOME)
		return (struct found_fact){ HOW_SOME, "where the spawn is seen", spawns->remedy };
	return (struct found_fact){ HOW_EXACT, "file and line, by a walk of the stack" };
}

static struct found_fact kinds(const struct discovery *d, const struct wire_table *w,
			       unsigned newest)
{
	if (d->rung == RUNG_NOTHING)
		return (struct found_fact){ HOW_SOME, "not which tasks are a LocalSet's",
					    "build with `strip = false`" };
	if (newest >= FIRST_LOCAL_RUNTIME_MINOR && !is_old(w) && d->rung < RUNG_FULL)
		return (struct found_fact){ HOW_EXACT,
					    "of a LocalRuntime and its tasks where the "
					    "stack of a spawn shows spawn_local, else with "
					    "`debug = 2`" };
	return (struct found_fact){ HOW_EXACT };
}

static struct found_fact block_on(struct finding *f, const struct discovery *d,
				  const struct found_runtime *r, unsigned newest)
{
	uint32_t nr = d->roots.nr_redirects - d->roots.nr_waits - d->roots.nr_parks;
	struct found_fact fact = { HOW_EXACT };
	char *text;

	if (newest < FIRST_ROOTS_MINOR)
		return (struct found_fact){ HOW_NOT, "before Tokio 1.29 other functions lead to it",
					    "use Tokio 1.29 or later" };
	if (!nr)
		return (struct found_fact){ HOW_NOT, d->roots.note };
	if (d->roots.runtime != r - d->runtimes)
		return (struct found_fact){ HOW_NOT, "only those of the other Tokio are" };
	if (d->link == ELF_SHARED_OBJECT)
		return (struct found_fact){ HOW_SOME, "where the program begins with this library, "
						      "not where it is loaded later" };
	text = xasprintf("by %u functions that are redirected when the program starts; %s", nr,
			 d->rung == RUNG_FULL ? "its await paths where debug info and code agree "
						"where its future lies"
					      : "without await paths");
	fact.text = finding_string(f, text);
	free(text);
	return fact;
}

/* When a closure was queued its spawn tells. */
static struct found_fact blocking(const struct discovery *d, const struct found_fact *spawns)
{
	if (d->rung == RUNG_NOTHING)
		return (struct found_fact){ HOW_SOME, "a worker without tasks looks like a call",
					    "build with `strip = false`" };
	if (spawns->how != HOW_EXACT)
		return (struct found_fact){ HOW_EXACT,
					    "each call, but how long it waited only where its "
					    "spawn is seen",
					    spawns->remedy };
	return (struct found_fact){ HOW_EXACT, "each call, with the time it waited" };
}

void tokio_judge(struct finding *f, const struct discovery *d, const struct found_runtime *r,
		 struct found_fact facts[NR_FACTS])
{
	const struct wire_table *w = a_table(d, r);
	unsigned oldest, newest;

	minors(r->version, &oldest, &newest);
	facts[FACT_POLLS] = (struct found_fact){ HOW_EXACT };
	facts[FACT_KINDS] = kinds(d, w, newest);
	facts[FACT_SPAWNS] = spawns(f, d, w, oldest);
	facts[FACT_PLACES] = places(d, r, &facts[FACT_SPAWNS]);
	facts[FACT_AWAITS] = fact_awaits(d, r);
	facts[FACT_WAKES] =
		r->waker_known
			? (struct found_fact){ HOW_EXACT, "with cause" }
			: (struct found_fact){ HOW_EXACT, "with cause, but for wakes while a task "
							  "runs: they count as its own" };
	facts[FACT_PARKS] = (struct found_fact){ HOW_EXACT, "sleeps by futex and epoll" };
	facts[FACT_BLOCK_ON] = block_on(f, d, r, newest);
	facts[FACT_BLOCKING] = blocking(d, &facts[FACT_SPAWNS]);
	/* Up to some patch releases of 1.8 an abort is a call of shutdown. */
	facts[FACT_ENDS] =
		is_old(w) && w->slot_abort == WIRE_NO_SLOT
			? (struct found_fact){ HOW_SOME, "tasks that were aborted show as dropped",
					       "use Tokio 1.9 or later" }
			: (struct found_fact){ HOW_EXACT };
	facts[FACT_PANICS] =
		(struct found_fact){ HOW_EXACT, "distinguished from those that the program "
						"catches" };
}
