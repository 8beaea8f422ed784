// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An async lock that tasks queue on: one line that awaits it, and nearly always several tasks that
 * wait there. Which of the program's locks it is, is not recorded: a line is told, and if it awaits
 * several locks they count together. A lock that is contended now and then has a short queue most
 * of the time, and is none of these. A semaphore may be meant to make tasks wait.
 */
#include "analyze/analyses.h"
#include "analyze/by_await.h"
#include "base/format.h"
#include "base/leaf_kind.h"

enum { LIMIT_WAITERS, LIMIT_NR, LIMIT_SPAN };

static const struct threshold thresholds[] = {
	[LIMIT_WAITERS] = { "lock-queue", THRESHOLD_COUNT, 2,
			    "average number of tasks that wait for an async lock at one line" },
	[LIMIT_NR] = { "lock-queue-count", THRESHOLD_COUNT, 20, "… so often" },
	[LIMIT_SPAN] = { "lock-queue-span", THRESHOLD_NS, 50000000, "… over at least this time" },
	{ 0 },
};

static const struct lock {
	enum leaf_kind kind;
	const char *what;
	enum severity severity;
	const char *advice;
} locks[] = {
	{ LEAF_KIND_MUTEX, "an async mutex", SEVERITY_WARNING,
	  "hold it for a shorter time, without unnecessary .awaits; or split the data that it "
	  "protects, or let one task own the data and receive messages" },
	{ LEAF_KIND_RWLOCK, "an async RwLock", SEVERITY_WARNING,
	  "hold it for a shorter time, above all for writing; or give readers a snapshot "
	  "(watch, Arc swap)" },
	{ LEAF_KIND_SEMAPHORE, "permits of a semaphore", SEVERITY_NOTE,
	  "if they are not meant to wait here, raise the number of permits or release them earlier" },
};

static const struct lock *lock_of(const struct by_await_row *row)
{
	enum leaf_kind kind = row->leaf ? leaf_kind_named(row->leaf->leaf) : LEAF_KIND_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
		if (locks[i].kind == kind)
			return &locks[i];
	return NULL;
}

static void say(const struct by_await_row *row, const struct lock *lock,
		const struct analysis_input *in)
{
	uint64_t span_ns = row->end_ns - row->start_ns, waiters = row->wait_ns / span_ns;
	uint16_t type = row->is_of_group ? in->rec->groups[row->group].type : EVENT_TYPE_NONE;
	struct finding *f = finding_add(in, lock->severity, type);
	char nr[FORMAT_SIZE], tasks[FORMAT_SIZE], sum[FORMAT_SIZE], max[FORMAT_SIZE];
	char queue[FORMAT_SIZE];

	f->step = row->step - in->rec->steps;
	/* no worker is held; but so long whoever waits got nothing done */
	f->harm_ns = span_ns;
	f->has_task = true;
	f->task = row->longest;
	f->time_ns = row->longest_at_ns;
	f->span_ns = row->longest_ns;
	finding_figure(f, "waits", FIGURE_COUNT, row->nr);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_figure(f, "waiters", FIGURE_COUNT, waiters);
	finding_figure(f, "wait_ns", FIGURE_NS, row->wait_ns);
	finding_figure(f, "p99_ns", FIGURE_NS, histogram_percentile(&row->wait, 99));
	finding_figure(f, "max_ns", FIGURE_NS, row->wait.max);
	finding_figure(f, "over_ns", FIGURE_NS, span_ns);
	finding_say(f,
		    "%s waits of %s task%s for %s took %s in all, the longest %s: on average %s "
		    "tasks were queued",
		    format_grouped(row->nr, nr), format_grouped(row->nr_tasks, tasks),
		    plural(row->nr_tasks), lock->what, format_span(row->wait_ns, sum),
		    format_span(row->wait.max, max), format_grouped(waiters, queue));
	finding_advise(f, "%s", lock->advice);
}

static void finish(void *state, const struct analysis_input *in)
{
	struct by_await awaits;

	if (!in->paths)
		return;
	by_await_init(&awaits, in->rec, in->paths);
	for (uint32_t i = 0; i < awaits.nr; i++) {
		const struct by_await_row *row = &awaits.v[i];
		const struct lock *lock = row->nr && row->step ? lock_of(row) : NULL;
		uint64_t span_ns = lock ? row->end_ns - row->start_ns : 0;

		if (lock && span_ns && row->nr >= in->limits[LIMIT_NR] &&
		    span_ns >= in->limits[LIMIT_SPAN] &&
		    row->wait_ns / span_ns >= in->limits[LIMIT_WAITERS])
			say(row, lock, in);
	}
	by_await_release(&awaits);
}

const struct analysis analysis_lock_queue = {
	.name = "lock-queue",
	.summary = "an async lock that many tasks wait for",
	.thresholds = thresholds,
	.finish = finish,
};
